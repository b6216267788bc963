// SPDX-FileCopyrightText: The Pumice authors
// SPDX-License-Identifier: Apache-2.0
// Vulkan-Hpp without what Pumice does not use of it, which is most of what it costs the compiler.
// PUMICE_WHOLE_VULKAN_HPP leaves everything in, and a file that includes <vulkan/vulkan.hpp>
// before Pumice has it as it asked for it: Pumice compiles under any of its configurations.
#pragma once

// Vulkan-Hpp without its enhanced mode needs these two and does not include them.
#include <tuple>
#include <vector>

#if !defined(VULKAN_HPP) && !defined(PUMICE_WHOLE_VULKAN_HPP)
#ifndef VULKAN_HPP_NO_CONSTRUCTORS
#define VULKAN_HPP_NO_CONSTRUCTORS
#endif
#ifndef VULKAN_HPP_NO_SETTERS
#define VULKAN_HPP_NO_SETTERS
#endif
#ifndef VULKAN_HPP_NO_TO_STRING
#define VULKAN_HPP_NO_TO_STRING
#endif
#ifndef VULKAN_HPP_DISABLE_ENHANCED_MODE
#define VULKAN_HPP_DISABLE_ENHANCED_MODE
#endif
#endif

#include <vulkan/vulkan.hpp>

#if VK_HEADER_VERSION < 311  // as cmake/PumiceDependencies.cmake asks for
#error "Pumice needs Vulkan-Headers 1.4.311 or newer; an older <vulkan/vulkan.hpp> comes first"
#endif
