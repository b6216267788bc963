// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// The one source of libpumice_runner: <pumice/runner.h> over <pumice/runner.hpp>.
#include <pumice/runner.h>
#include <pumice/front.hpp>
#include <pumice/runner/load.hpp>

#include <memory>

namespace pm = pumice;

struct pumice_options {
    pm::runner_options values;
};
struct pumice_runner {
    pm::runner runs;
    std::vector<std::string> layouts[2][2];  // names, by input or output and view
};
struct pumice_tensor {
    pm::runner_tensor owner;  // or nothing, of memory that is the caller's
    pm::runner_tensor_view seen;
};
struct pumice_job {
    pm::job work;
};

namespace {

static_assert(static_cast<int>(pm::run_status::failed) == PUMICE_FAILED &&
              static_cast<int>(pm::memory_kind::host) == PUMICE_MEMORY_HOST &&
              static_cast<int>(pm::sync_direction::from_device) == PUMICE_FROM_DEVICE);

pumice_status told(pm::run_status s) noexcept { return static_cast<pumice_status>(s); }

/// What f does, or the status of what it throws.
template <class F>
pumice_status guarded(F&& f) noexcept {
    try {
        return f();
    } catch (...) {
        return told(pm::detail::status_of_exception(pm::detail::last_message));
    }
}
void must_be(const void* pointer, const char* what) {
    if (!pointer) pm::fail(pm::errc::invalid_argument, "C API", {what, " is null"});
}
void must_be_one_of(int value, int last, const char* what) {
    if (value < 0 || value > last)
        pm::fail(pm::errc::invalid_argument, "C API",
                 {"there is no ", what, " ", value, ", the last is ", last});
}
template <class Make>
pumice_status make_tensor(const pumice_runner* runner, const char* name, pumice_tensor** made,
                          Make&& make) noexcept {
    return guarded([&] {
        must_be(runner, "the runner"), must_be(name, "the name"), must_be(made, "the result");
        *made = nullptr;
        *made = new pumice_tensor(make(runner->runs));
        return PUMICE_OK;
    });
}
std::vector<pm::runner_tensor_view>& views(std::vector<pm::runner_tensor_view>& list,
                                           const pumice_tensor* const* tensors, std::size_t count) {
    list.clear();
    if (count > 0) must_be(static_cast<const void*>(tensors), "a list of tensors");
    for (std::size_t i = 0; i < count; ++i) {
        must_be(tensors[i], "a tensor");
        list.push_back(tensors[i]->owner.has_value() ? pm::runner_tensor_view(tensors[i]->owner)
                                                     : tensors[i]->seen);
    }
    return list;
}
pumice_status describe(const pumice_runner* runner, int out, std::size_t index, pumice_view view,
                       pumice_tensor_info* info) noexcept {
    return guarded([&] {
        must_be(runner, "the runner"), must_be(info, "the info");
        must_be_one_of(view, PUMICE_VIEW_CHOSEN, "view");
        const pm::runner& r = runner->runs;
        const pm::io_view chosen = view == PUMICE_VIEW_CHOSEN
                                       ? (out ? r.options().output_view : r.options().input_view)
                                   : view == PUMICE_VIEW_HARDWARE ? pm::io_view::hardware
                                                                  : pm::io_view::host;
        const auto list = out ? r.outputs(chosen) : r.inputs(chosen);
        if (info->struct_size < sizeof *info)
            pm::fail(pm::errc::invalid_argument, "C API",
                     {"struct_size is ", info->struct_size, ", at least ", sizeof *info,
                      " is wanted"});
        if (index >= list.size())
            pm::fail(pm::errc::invalid_argument, "C API",
                     {"index ", index, " of ", list.size(), (out ? " outputs" : " inputs")});
        const pm::tensor_info& i = list[index];
        info->name = i.name.c_str();
        info->dtype = pm::to_string(i.dtype).data();  // of a literal, which ends with 0
        info->layout = runner->layouts[out][chosen == pm::io_view::hardware][index].c_str();
        info->rank = i.shape.rank();
        for (int k = 0; k < 8; ++k) info->shape[k] = k < i.shape.rank() ? i.shape[k] : 1;
        info->bytes = static_cast<std::size_t>(i.bytes());
        info->quantization_count = i.quantization ? i.quantization->scale.size() : 0;
        info->scale = i.quantization ? i.quantization->scale.data() : nullptr;
        info->zero_point = i.quantization ? i.quantization->zero_point.data() : nullptr;
        return PUMICE_OK;
    });
}

}  // namespace

extern "C" {

uint32_t pumice_runner_abi(void) { return PUMICE_RUNNER_ABI; }
const char* pumice_status_name(pumice_status status) {
    return pm::to_string(static_cast<pm::run_status>(status)).data();
}
const char* pumice_last_error(void) { return pm::run_message(); }

pumice_status pumice_options_create(pumice_options** made) {
    return guarded([&] {
        must_be(made, "the result");
        *made = new pumice_options;
        return PUMICE_OK;
    });
}
pumice_status pumice_options_set(pumice_options* options, const char* key, const char* value) {
    return guarded([&] {
        must_be(options, "the options"), must_be(key, "the key"), must_be(value, "the value");
        if (std::string_view(key) == "config_file")
            pm::detail::read_options(options->values, value);
        else pm::detail::set_option(options->values, key, std::string(value), "");
        return PUMICE_OK;
    });
}
void pumice_options_destroy(pumice_options* options) { delete options; }

pumice_status pumice_runner_load(const char* kind, const char* model, const pumice_options* options,
                                 pumice_runner** made) {
    return guarded([&] {
        must_be(kind, "the kind"), must_be(model, "the model"), must_be(made, "the result");
        *made = nullptr;
        std::unique_ptr<pumice_runner> r(new pumice_runner{
            pm::make_runner(pm::runner_kind_named(kind), model,
                            options ? options->values : pm::runner_options()),
            {}});
        for (const pm::io_view v : {pm::io_view::host, pm::io_view::hardware}) {
            const bool hardware = v == pm::io_view::hardware;
            for (const auto& i : r->runs.inputs(v))
                r->layouts[0][hardware].push_back(to_string(i.layout));
            for (const auto& i : r->runs.outputs(v))
                r->layouts[1][hardware].push_back(to_string(i.layout));
        }
        *made = r.release();
        return PUMICE_OK;
    });
}
void pumice_runner_destroy(pumice_runner* runner) { delete runner; }
size_t pumice_runner_input_count(const pumice_runner* runner) {
    return runner ? runner->runs.inputs().size() : 0;
}
size_t pumice_runner_output_count(const pumice_runner* runner) {
    return runner ? runner->runs.outputs().size() : 0;
}
pumice_status pumice_runner_input(const pumice_runner* runner, size_t index, pumice_view view,
                                  pumice_tensor_info* info) {
    return describe(runner, 0, index, view, info);
}
pumice_status pumice_runner_output(const pumice_runner* runner, size_t index, pumice_view view,
                                   pumice_tensor_info* info) {
    return describe(runner, 1, index, view, info);
}

pumice_status pumice_tensor_allocate(const pumice_runner* runner, const char* name,
                                     pumice_memory_kind kind, pumice_tensor** made) {
    return make_tensor(runner, name, made, [&](const pm::runner& r) {
        if (static_cast<unsigned>(kind) >= static_cast<unsigned>(pm::memory_kinds))
            pm::fail(pm::errc::invalid_argument, "C API",
                     {"there is no memory kind ", static_cast<int>(kind)});
        return pumice_tensor{r.allocate(name, static_cast<pm::memory_kind>(kind)), {}};
    });
}
pumice_status pumice_tensor_wrap(const pumice_runner* runner, const char* name, void* data,
                                 pumice_tensor** made) {
    return make_tensor(runner, name, made,
                       [&](const pm::runner& r) { return pumice_tensor{{}, r.wrap(name, data)}; });
}
pumice_status pumice_tensor_import_host(const pumice_runner* runner, const char* name, void* data,
                                        pumice_tensor** made) {
    return make_tensor(runner, name, made, [&](const pm::runner& r) {
        return pumice_tensor{{}, r.import_host(name, data)};
    });
}
pumice_status pumice_tensor_import_fd(const pumice_runner* runner, const char* name, int fd,
                                      pumice_tensor** made) {
    return make_tensor(runner, name, made, [&](const pm::runner& r) {
        return pumice_tensor{{}, r.import_fd(name, fd)};
    });
}
void pumice_tensor_destroy(pumice_tensor* tensor) { delete tensor; }

static const pm::runner_tensor_view& seen(const pumice_tensor* tensor) {
    must_be(tensor, "the tensor");
    return tensor->owner.has_value() ? tensor->owner : tensor->seen;
}
void* pumice_tensor_data(const pumice_tensor* tensor) {
    return tensor ? seen(tensor).data() : nullptr;
}
size_t pumice_tensor_bytes(const pumice_tensor* tensor) {
    return tensor ? static_cast<size_t>(seen(tensor).size_bytes()) : 0;
}
pumice_status pumice_tensor_write(const pumice_tensor* tensor, const void* from, size_t bytes) {
    return guarded([&] {
        must_be(from, "the memory");
        seen(tensor).write({static_cast<const std::byte*>(from), bytes});
        return PUMICE_OK;
    });
}
pumice_status pumice_tensor_read(const pumice_tensor* tensor, void* to, size_t bytes) {
    return guarded([&] {
        must_be(to, "the memory");
        seen(tensor).read({static_cast<std::byte*>(to), bytes});
        return PUMICE_OK;
    });
}
pumice_status pumice_tensor_sync(const pumice_tensor* tensor, pumice_direction to) {
    return guarded([&] {
        must_be_one_of(to, PUMICE_FROM_DEVICE, "direction");
        seen(tensor).sync(to == PUMICE_TO_DEVICE ? pm::sync_direction::to_device
                                                 : pm::sync_direction::from_device);
        return PUMICE_OK;
    });
}
pumice_status pumice_tensor_export_fd(const pumice_tensor* tensor, int* fd) {
    return guarded([&] {
        must_be(fd, "the result");
        *fd = -1;
        *fd = seen(tensor).export_fd();
        return PUMICE_OK;
    });
}

pumice_status pumice_runner_execute(const pumice_runner* runner, const pumice_tensor* const* inputs,
                                    size_t input_count, const pumice_tensor* const* outputs,
                                    size_t output_count) {
    static thread_local std::vector<pm::runner_tensor_view> in, out;  // of one run after the other
    const pumice_status s = guarded([&] {
        must_be(runner, "the runner");
        return told(runner->runs.execute(views(in, inputs, input_count),
                                         views(out, outputs, output_count)));
    });
    in.clear(), out.clear();
    return s;
}
pumice_status pumice_runner_execute_async(const pumice_runner* runner,
                                          const pumice_tensor* const* inputs, size_t input_count,
                                          const pumice_tensor* const* outputs, size_t output_count,
                                          pumice_callback callback, void* user, pumice_job** made) {
    return guarded([&] {
        must_be(runner, "the runner");
        if (made) *made = nullptr;
        std::vector<pm::runner_tensor_view> in, out;
        std::unique_ptr<pumice_job> j(made ? new pumice_job : nullptr);
        pm::run_callback call;
        if (callback) call = [callback, user](pm::run_status s) { callback(told(s), user); };
        pm::job work =
            runner->runs.execute_async(views(in, inputs, input_count),
                                       views(out, outputs, output_count), std::move(call));
        if (!work.accepted()) return told(work.wait());
        if (!made) return PUMICE_OK;
        j->work = std::move(work);
        *made = j.release();
        return PUMICE_OK;
    });
}
pumice_status pumice_job_wait(const pumice_job* job, int64_t nanoseconds) {
    return guarded([&] {
        must_be(job, "the job");
        return told(job->work.wait(nanoseconds < 0 ? std::chrono::nanoseconds::max()
                                                   : std::chrono::nanoseconds(nanoseconds)));
    });
}
pumice_status pumice_job_cancel(const pumice_job* job) {
    return guarded([&] {
        must_be(job, "the job");
        return told(job->work.cancel());
    });
}
void pumice_job_destroy(pumice_job* job) { delete job; }

}  // extern "C"
