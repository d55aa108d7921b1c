// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/kernel_name.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <string_view>

namespace ncclprobe::plugin {
namespace {

// Kernels of kernels.cu that belong to the measurement, not to the measured work.
constexpr std::array<std::string_view, 7> k_own_kernels{
    "fill", "compare", "spin", "note_time", "spin_since", "take_larger", "answer_clock"};

bool is_own(std::string_view name) {
  constexpr std::string_view k_space = "ncclprobe::nvidia::";
  constexpr std::string_view k_nameless = "(anonymous namespace)";
  if (!name.starts_with(k_space))
    return false;
  name.remove_prefix(k_space.size());
  if (name.starts_with(k_nameless))
    name.remove_prefix(k_nameless.size());
  name = name.substr(0, name.find('('));
  if (std::size_t colons = name.rfind("::"); colons != std::string_view::npos)
    name.remove_prefix(colons + 2);
  return std::ranges::find(k_own_kernels, name) != k_own_kernels.end();
}

} // namespace

KernelName kernel_name(const char* told) {
  KernelName name;
  name.text = told == nullptr ? "" : told;
  if (name.text.starts_with("_Z")) {
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> readable(
        ::abi::__cxa_demangle(told, nullptr, nullptr, &status), &std::free);
    if (status == 0 && readable)
      name.text = readable.get();
  }
  if (name.text.starts_with("void ")) // of templates
    name.text.erase(0, 5);
  // ncclDevKernel_AllReduce_Sum_f32_RING_LL, ncclSymkDevKernel_..., before 2.19 ncclKernel_...
  std::string_view function = std::string_view(name.text).substr(0, name.text.find_first_of("(<"));
  name.communication = function.starts_with("nccl") &&
                       function.find("::") == std::string_view::npos &&
                       function.find("Kernel") != std::string_view::npos;
  name.own = is_own(name.text);
  return name;
}

} // namespace ncclprobe::plugin
