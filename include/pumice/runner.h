/* SPDX-FileCopyrightText: The Pumice authors
   SPDX-License-Identifier: Apache-2.0
   The runner for C and what calls C. Link libpumice_runner (pkg-config pumice-runner). Handles are opaque, no exception
   crosses, and each call that can fail gives a status; pumice_last_error() says what was wrong on this thread. */
#ifndef PUMICE_RUNNER_H
#define PUMICE_RUNNER_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define PUMICE_C_API __declspec(dllimport)
#elif defined(__GNUC__)
#define PUMICE_C_API __attribute__((visibility("default")))
#else
#define PUMICE_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something here stops being as it was; what is added does not raise it. */
#define PUMICE_RUNNER_ABI 1

typedef enum pumice_status {
    PUMICE_OK = 0,
    PUMICE_TIMEOUT = 1,
    PUMICE_BUSY = 2,
    PUMICE_CANCELLED = 3,
    PUMICE_INVALID_ARGUMENT = 4,
    PUMICE_SHAPE_MISMATCH = 5,
    PUMICE_DTYPE_MISMATCH = 6,
    PUMICE_CONTEXT_MISMATCH = 7,
    PUMICE_UNSUPPORTED = 8,
    PUMICE_OUT_OF_MEMORY = 9,
    PUMICE_DEVICE_LOST = 10,
    PUMICE_IO_FAILED = 11,
    PUMICE_BAD_FILE = 12,
    PUMICE_FAILED = 13
} pumice_status;

typedef enum pumice_memory_kind {
    PUMICE_MEMORY_DEVICE = 0,
    PUMICE_MEMORY_FD = 1,
    PUMICE_MEMORY_HOST_IMPORT = 2, /* pages of the host's that the device reads in place */
    PUMICE_MEMORY_HOST = 3         /* ordinary memory: copied */
} pumice_memory_kind;

typedef enum pumice_view { PUMICE_VIEW_HOST = 0, PUMICE_VIEW_HARDWARE = 1, PUMICE_VIEW_CHOSEN = 2 } pumice_view;
typedef enum pumice_direction { PUMICE_TO_DEVICE = 0, PUMICE_FROM_DEVICE = 1 } pumice_direction;

typedef struct pumice_options pumice_options;
typedef struct pumice_runner pumice_runner;
typedef struct pumice_tensor pumice_tensor;
typedef struct pumice_job pumice_job;

/* What goes in or comes out. What it points to lives as long as the runner. */
typedef struct pumice_tensor_info {
    size_t struct_size; /* sizeof(pumice_tensor_info), set by the caller */
    const char *name;
    const char *dtype;  /* "f32", "i8", ... */
    const char *layout; /* "hcwnc4", ...; "" for the host's own */
    int32_t rank;
    int64_t shape[8];
    size_t bytes;
    size_t quantization_count; /* of scales and zero points; 0: it is not quantised */
    const float *scale;
    const int64_t *zero_point;
} pumice_tensor_info;

/* Called once with what became of a run, on a thread of the runner's. */
typedef void (*pumice_callback)(pumice_status status, void *user);

PUMICE_C_API uint32_t pumice_runner_abi(void); /* of the library: PUMICE_RUNNER_ABI of its header */
PUMICE_C_API const char *pumice_status_name(pumice_status status);
PUMICE_C_API const char *pumice_last_error(void); /* of the last call on this thread that failed; "" before one */

/* Options by the names and texts of docs/25_runner.md. */
PUMICE_C_API pumice_status pumice_options_create(pumice_options **made);
PUMICE_C_API pumice_status pumice_options_set(pumice_options *options, const char *key, const char *value);
PUMICE_C_API void pumice_options_destroy(pumice_options *options);

/* `kind`: "best", "discrete", "integrated", "gpu", "cpu" or "host". `options` may be null. */
PUMICE_C_API pumice_status pumice_runner_load(const char *kind, const char *model, const pumice_options *options,
                                              pumice_runner **made);
/* Waits for runs at work, and cancels those that are not. Jobs and tensors may outlive it. */
PUMICE_C_API void pumice_runner_destroy(pumice_runner *runner);
PUMICE_C_API size_t pumice_runner_input_count(const pumice_runner *runner);
PUMICE_C_API size_t pumice_runner_output_count(const pumice_runner *runner);
PUMICE_C_API pumice_status pumice_runner_input(const pumice_runner *runner, size_t index, pumice_view view,
                                               pumice_tensor_info *info);
PUMICE_C_API pumice_status pumice_runner_output(const pumice_runner *runner, size_t index, pumice_view view,
                                                pumice_tensor_info *info);

/* Tensors for the value of that name, in the view that the options choose. The pointer of `wrap` and of `import_host`
   stays the caller's and outlives the tensor; so does the descriptor of `import_fd`, but for that it may be closed. */
PUMICE_C_API pumice_status pumice_tensor_allocate(const pumice_runner *runner, const char *name, pumice_memory_kind kind,
                                                  pumice_tensor **made);
PUMICE_C_API pumice_status pumice_tensor_wrap(const pumice_runner *runner, const char *name, void *data,
                                              pumice_tensor **made);
PUMICE_C_API pumice_status pumice_tensor_import_host(const pumice_runner *runner, const char *name, void *data,
                                                     pumice_tensor **made);
PUMICE_C_API pumice_status pumice_tensor_import_fd(const pumice_runner *runner, const char *name, int fd,
                                                   pumice_tensor **made);
PUMICE_C_API void pumice_tensor_destroy(pumice_tensor *tensor);
PUMICE_C_API void *pumice_tensor_data(const pumice_tensor *tensor); /* null where the host sees none */
PUMICE_C_API size_t pumice_tensor_bytes(const pumice_tensor *tensor);
PUMICE_C_API pumice_status pumice_tensor_write(const pumice_tensor *tensor, const void *from, size_t bytes);
PUMICE_C_API pumice_status pumice_tensor_read(const pumice_tensor *tensor, void *to, size_t bytes);
PUMICE_C_API pumice_status pumice_tensor_sync(const pumice_tensor *tensor, pumice_direction to);
PUMICE_C_API pumice_status pumice_tensor_export_fd(const pumice_tensor *tensor, int *fd); /* the caller closes it */

/* Any thread; tensors stay alive until the run is done. */
PUMICE_C_API pumice_status pumice_runner_execute(const pumice_runner *runner, const pumice_tensor *const *inputs,
                                                 size_t input_count, const pumice_tensor *const *outputs,
                                                 size_t output_count);
/* `callback` and `made` may be null; a job is destroyed by the caller, which changes nothing about the run. */
PUMICE_C_API pumice_status pumice_runner_execute_async(const pumice_runner *runner, const pumice_tensor *const *inputs,
                                                       size_t input_count, const pumice_tensor *const *outputs,
                                                       size_t output_count, pumice_callback callback, void *user,
                                                       pumice_job **made);
PUMICE_C_API pumice_status pumice_job_wait(const pumice_job *job, int64_t nanoseconds); /* below 0: as long as it takes */
PUMICE_C_API pumice_status pumice_job_cancel(const pumice_job *job);
PUMICE_C_API void pumice_job_destroy(pumice_job *job);

#ifdef __cplusplus
}
#endif

#endif
