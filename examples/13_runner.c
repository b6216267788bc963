/* SPDX-FileCopyrightText: The Pumice authors
   SPDX-License-Identifier: Apache-2.0
   A model of one input and one output from C: 13_runner MODEL.
   cc 13_runner.c $(pkg-config --cflags --libs pumice-runner) */
#include <pumice/runner.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(pumice_status status) {
    if (status == PUMICE_OK) return;
    fprintf(stderr, "%s: %s\n", pumice_status_name(status), pumice_last_error());
    exit(1);
}
static void called(pumice_status status, void *user) { *(pumice_status *)user = status; }

int main(int argc, char **argv) {
    pumice_options *options = NULL;
    pumice_runner *runner = NULL;
    pumice_tensor *in = NULL, *out = NULL;
    pumice_job *job = NULL;
    pumice_tensor_info image = {0}, scores = {0};
    pumice_status seen = PUMICE_BUSY;
    if (argc != 2 || pumice_runner_abi() != PUMICE_RUNNER_ABI) return 2;

    must(pumice_options_create(&options));
    must(pumice_options_set(options, "max_in_flight", "4"));
    if (pumice_options_set(options, "columns", "4") != PUMICE_INVALID_ARGUMENT) return 3;
    printf("refused: %s\n", pumice_last_error());
    must(pumice_runner_load("best", argv[1], options, &runner));
    pumice_options_destroy(options);

    image.struct_size = scores.struct_size = sizeof image;
    must(pumice_runner_input(runner, 0, PUMICE_VIEW_CHOSEN, &image));
    must(pumice_runner_output(runner, 0, PUMICE_VIEW_CHOSEN, &scores));
    printf("%s: %s of rank %d, %zu bytes\n", image.name, image.dtype, (int)image.rank, image.bytes);
    must(pumice_tensor_allocate(runner, image.name, PUMICE_MEMORY_HOST, &in));
    must(pumice_tensor_allocate(runner, scores.name, PUMICE_MEMORY_HOST, &out));
    memset(pumice_tensor_data(in), 0, image.bytes);

    must(pumice_runner_execute(runner, (const pumice_tensor *const *)&in, 1, (const pumice_tensor *const *)&out, 1));
    float first = ((float *)pumice_tensor_data(out))[0], again = 0;
    memset(pumice_tensor_data(out), 0, scores.bytes);
    must(pumice_runner_execute_async(runner, (const pumice_tensor *const *)&in, 1,
                                     (const pumice_tensor *const *)&out, 1, called, &seen, &job));
    must(pumice_job_wait(job, -1)); /* the callback has returned then */
    again = ((float *)pumice_tensor_data(out))[0];
    pumice_job_destroy(job);
    pumice_tensor_destroy(in);
    pumice_tensor_destroy(out);
    pumice_runner_destroy(runner);
    if (seen != PUMICE_OK || memcmp(&first, &again, sizeof first) != 0) return 4;
    printf("%g twice, all as they should be\n", (double)first);
    return 0;
}
