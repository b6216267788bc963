// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// A VkInstance, the devices that it shows, and the messages of validation layers.
#pragma once

#include <pumice/base/array_list.hpp>
#include <pumice/base/callback.hpp>
#include <pumice/base/lock.hpp>
#include <pumice/base/log.hpp>
#include <pumice/vk/describe.hpp>
#include <pumice/vk/loader.hpp>

#include <atomic>
#include <memory>

namespace pumice { inline namespace PUMICE_ABI { namespace vulkan {

/// Edits function pointers after they were loaded: tests count calls and inject faults so.
using dispatcher_hook = callback<void(dispatcher&)>;

/// What validation layers say. Called from any thread, inside a Vulkan call.
using message_hook = callback<void(severity, std::string_view)>;

struct instance_options {
    loader door{};  // empty: open_loader()
    std::string application = "pumice";
    message_hook on_message;          // empty: the log
    dispatcher_hook edit_dispatcher;  // once the instance's functions are loaded
    bool debug = false;  // labels and messages, even if no layer is named in the environment
};

namespace detail {

/// Where validation messages go; the instance keeps it in place until vkDestroyInstance has
/// returned.
struct message_sink {
    message_hook hook;
    std::atomic<std::uint64_t> errors{0}, warnings{0};
};

inline VKAPI_ATTR VkBool32 VKAPI_CALL
on_debug_message(VkDebugUtilsMessageSeverityFlagBitsEXT level, VkDebugUtilsMessageTypeFlagsEXT,
                 const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) noexcept {
    auto& sink = *static_cast<message_sink*>(user);
    const bool is_error = level >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    (is_error ? sink.errors : sink.warnings).fetch_add(1, std::memory_order_relaxed);
    const severity how = is_error ? severity::error : severity::warning;
    try {
        std::string text;
        if (data && data->pMessageIdName) text = cat({data->pMessageIdName, ": "});
        if (data && data->pMessage) text += data->pMessage;
        sink.hook ? sink.hook(how, text) : write_log(how, text);
    } catch (...) {  // a driver's frames lie above: nothing may pass through them
    }
    return VK_FALSE;
}

/// The variables by which a loader finds drivers and layers, with their values.
inline std::string loader_settings() {
    std::string text;
    for (const char* name :
         {"PUMICE_VULKAN_LOADER", "VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES",
          "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE", "VK_LOADER_DEVICE_SELECT",
          "VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE", "VK_LAYER_PATH", "VK_ADD_LAYER_PATH"})
        append_text(text, {name, "=", environment(name), "\n"});
    return text;
}

/// Where a loader looks for drivers, for the message that none was found.
inline std::string driver_search() {
    for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
        if (const std::string files = environment(name); !files.empty())
            return cat({name, " names the only drivers that are looked at: ", files});
#ifdef _WIN32
    return "drivers are looked for in the registry, under the display adapters";
#else
    std::string text =
        "drivers are looked for as *.json in /etc/vulkan/icd.d, /usr/local/share/vulkan/icd.d, "
        "/usr/share/vulkan/icd.d";
    const std::string data = environment("XDG_DATA_HOME"), home = environment("HOME");
    if (!data.empty()) append_text(text, {", ", data, "/vulkan/icd.d"});
    else if (!home.empty()) text += ", " + home + "/.local/share/vulkan/icd.d";
    return text;
#endif
}

}  // namespace detail

/// Shared by the devices made from it. Without a driver it exists too: it has no candidates, and a
/// reason.
class instance {
public:
    /// Throws errc::no_vulkan_loader, or what vkCreateInstance reports (no driver at all is no
    /// error).
    static std::shared_ptr<instance> create(instance_options options = {}) {
        std::shared_ptr<instance> made(new instance);
        made->open(std::move(options));
        return made;
    }

    /// The process's own, made at first use and never destroyed: a driver that is loaded anew for
    /// each context costs 100 ms a time, some give no device after a few dozen times, and
    /// validation layers have to outlive the last device. Made anew while it shows no device and
    /// where the environment names other drivers or layers. Throws as create() does.
    static std::shared_ptr<instance> shared() {
        struct kept {
            small_mutex mutex;
            array_list<std::pair<std::string, std::shared_ptr<instance>>> made;
        };
        static kept& all = *new kept;
        drivers::check();
        std::string settings = detail::loader_settings();
        const small_lock lock(all.mutex);
        for (const auto& [of, made] : all.made)
            if (of == settings) return made;
        std::shared_ptr<instance> made = create();
        if (!made->candidates().empty()) all.made.emplace_back(std::move(settings), made);
        return made;
    }

    /// Takes over nothing: the user destroys his instance after ours. `debug_utils` says whether he
    /// enabled VK_EXT_debug_utils.
    static std::shared_ptr<instance> adopt(VkInstance handle, PFN_vkGetInstanceProcAddr door,
                                           std::uint32_t api_version, bool debug_utils = false) {
        std::shared_ptr<instance> made(new instance);
        made->owned_ = false;
        made->handle_ = vk::Instance(handle);
        made->api_version_ = api_version;
        made->debug_ = debug_utils;
        made->table_.init(door);
        made->table_.init(made->handle_);
        made->enumerate();
        return made;
    }

    instance(const instance&) = delete;
    instance& operator=(const instance&) = delete;
    ~instance() {
        if (!owned_ || !handle_ || process_ != pumice::detail::process_number() || drivers::ended())
            return;
        if (messenger_ != VK_NULL_HANDLE)
            table_.vkDestroyDebugUtilsMessengerEXT(static_cast<VkInstance>(handle_), messenger_,
                                                   nullptr);
        handle_.destroy(nullptr, table_);
    }

    vk::Instance handle() const noexcept { return handle_; }  // null where no driver is installed
    const dispatcher& table() const noexcept { return table_; }
    std::uint32_t api_version() const noexcept { return api_version_; }
    bool debug_utils() const noexcept { return debug_; }

    /// All devices, refused ones too, in the loader's order.
    const array_list<candidate>& candidates() const noexcept { return candidates_; }
    /// Why there is no candidate: what was searched and what to do. Empty where there is one.
    const std::vector<std::string>& reasons() const noexcept { return reasons_; }

    std::uint64_t validation_errors() const noexcept { return sink_.errors; }
    std::uint64_t validation_warnings() const noexcept { return sink_.warnings; }

private:
    instance() = default;

    bool offers(const char* extension) const {
        std::uint32_t count = 0;
        if (vk::enumerateInstanceExtensionProperties(nullptr, &count, nullptr, table_) !=
            vk::Result::eSuccess)
            return false;
        array_list<vk::ExtensionProperties> found(count);
        const vk::Result result =
            vk::enumerateInstanceExtensionProperties(nullptr, &count, found.data(), table_);
        if (static_cast<int>(result) < 0) return false;
        for (std::uint32_t i = 0; i < count && i < found.size(); ++i)
            if (std::string_view(found[i].extensionName.data()) == extension) return true;
        return false;
    }

    void open(instance_options options) {
        drivers::opening counted;
        loader door = std::move(options.door);
        if (!door.get_instance_proc_addr) door = open_loader();
        sink_.hook = std::move(options.on_message);
        table_.init(door.get_instance_proc_addr);
        std::uint32_t offered = VK_API_VERSION_1_0;  // the function itself came with 1.1
        if (table_.vkEnumerateInstanceVersion)
            check(vk::enumerateInstanceVersion(&offered, table_), "vkEnumerateInstanceVersion");
        if (offered < VK_API_VERSION_1_3 || !table_.vkCreateInstance) {
            reasons_ = {"the Vulkan loader " + door.path + " speaks Vulkan " +
                            detail::version_text(offered) + "; Pumice needs 1.3",
                        "install a newer loader, or name one in PUMICE_VULKAN_LOADER"};
            return;
        }
        api_version_ = std::min<std::uint32_t>(offered, VK_API_VERSION_1_4);

        const bool layers = !detail::environment("VK_INSTANCE_LAYERS").empty() ||
                            !detail::environment("VK_LOADER_LAYERS_ENABLE").empty();
        debug_ = (options.debug || layers) && offers(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
        const bool portability = offers(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
        array_list<const char*> extensions;
        if (debug_) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
        if (portability) extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);

        VkDebugUtilsMessengerCreateInfoEXT messages{};
        messages.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
        messages.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                                   VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
        messages.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                               VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
        messages.pfnUserCallback = &detail::on_debug_message;
        messages.pUserData = &sink_;

        vk::ApplicationInfo application{};
        application.pApplicationName = options.application.c_str();
        application.pEngineName = "pumice";
        application.engineVersion = VK_MAKE_API_VERSION(0, PUMICE_VERSION_MAJOR,
                                                        PUMICE_VERSION_MINOR, PUMICE_VERSION_PATCH);
        application.apiVersion = api_version_;
        vk::InstanceCreateInfo info{};
        info.pApplicationInfo = &application;
        info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
        info.ppEnabledExtensionNames = extensions.data();
        // Chained here too, so that creating and destroying the instance is checked as well.
        if (debug_) info.pNext = &messages;
        if (portability)
            info.flags =
                vk::InstanceCreateFlags(vk::InstanceCreateFlagBits::eEnumeratePortabilityKHR);

        vk::Instance made{};
        const vk::Result result = vk::createInstance(&info, nullptr, &made, table_);
        if (result == vk::Result::eErrorIncompatibleDriver) {
            explain("the Vulkan loader found no driver that it can use");
            return;
        }
        check(result, "vkCreateInstance");
        handle_ = made;
        table_.init(handle_);
        if (options.edit_dispatcher) options.edit_dispatcher(table_);
        if (debug_ && table_.vkCreateDebugUtilsMessengerEXT)
            check(vk::Result(table_.vkCreateDebugUtilsMessengerEXT(static_cast<VkInstance>(handle_),
                                                                   &messages, nullptr,
                                                                   &messenger_)),
                  "vkCreateDebugUtilsMessengerEXT");
        enumerate();
        counted.found = !candidates_.empty();
    }

    void enumerate() {
        std::uint32_t count = 0;
        vk::Result result = handle_.enumeratePhysicalDevices(&count, nullptr, table_);
        array_list<vk::PhysicalDevice> found(count);
        if (result == vk::Result::eSuccess && count > 0)
            result = handle_.enumeratePhysicalDevices(&count, found.data(), table_);
        if (static_cast<int>(result) < 0) {
            explain("vkEnumeratePhysicalDevices gave " + std::string(result_name(result)));
            return;
        }
        found.resize(std::min<std::size_t>(count, found.size()));
        for (const vk::PhysicalDevice& device : found)
            candidates_.push_back(describe(device, table_));
        if (candidates_.empty()) explain("the drivers that the Vulkan loader found show no device");
    }

    void explain(std::string what) {
        reasons_ = {std::move(what), detail::driver_search(),
                    "install the driver of your GPU, or Mesa's CPU driver (Debian and Ubuntu: "
                    "mesa-vulkan-drivers)",
                    "VK_LOADER_DEBUG=driver makes the loader say what it does"};
    }

    bool owned_ = true, debug_ = false;
    vk::Instance handle_{};
    dispatcher table_;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    std::uint32_t api_version_ = 0;
    const std::uint32_t process_ = pumice::detail::process_number();
    detail::message_sink sink_;
    array_list<candidate> candidates_;
    std::vector<std::string> reasons_;
};

}}}  // namespace pumice::PUMICE_ABI::vulkan
