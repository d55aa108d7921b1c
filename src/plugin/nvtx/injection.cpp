// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/nvtx/injection.h"

#include "plugin/nvtx/ranges.h"
#include "plugin/profiler/tracing.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ncclprobe::plugin {
namespace {

// NCCL's own ranges: its operations are recorded anyway.
constexpr std::uintptr_t k_ignored = UINT16_MAX;
constexpr const char* k_ignored_domain = "NCCL";

// Handles are numbers of names, so a foreign one does no harm.
void* handle_of(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}
bool is_ignored(nvtx::Domain domain) {
  return reinterpret_cast<std::uintptr_t>(domain) == k_ignored;
}
std::uint16_t name_behind(const void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  return number <= RangeNames::k_others ? static_cast<std::uint16_t>(number) : RangeNames::k_none;
}

RangeName name_of(const char* text) {
  RangeName name;
  name.set(text);
  return name;
}

// As UTF-8.
RangeName name_of(const wchar_t* text) {
  RangeName name;
  std::size_t bytes = 0;
  for (; text != nullptr && *text != L'\0'; ++text) {
    const auto letter = static_cast<std::uint32_t>(*text);
    const std::size_t more = letter < 0x80 ? 0 : letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
    if (letter > 0x10FFFF || bytes + more + 1 >= name.letters.size())
      break;
    constexpr std::uint32_t k_first_bits[] = {0, 0xC0, 0xE0, 0xF0};
    name.letters[bytes++] = static_cast<char>(k_first_bits[more] | letter >> (6 * more));
    for (std::size_t i = more; i-- > 0;)
      name.letters[bytes++] = static_cast<char>(0x80 | (letter >> (6 * i) & 0x3F));
  }
  return name;
}

template <typename Letter>
std::uint16_t number_of_text(const Letter* text) {
  return range_state().names.number_of(name_of(text));
}

constexpr std::size_t k_least_bytes =
    offsetof(nvtx::EventAttributes, message) + sizeof(nvtx::EventAttributes::message);

std::uint16_t number_of_name(const nvtx::EventAttributes* what) {
  if (what == nullptr || what->struct_bytes < k_least_bytes)
    return RangeNames::k_none;
  switch (what->message_type) {
  case nvtx::k_ascii:
    return number_of_text(what->message.ascii);
  case nvtx::k_unicode:
    return number_of_text(what->message.unicode);
  case nvtx::k_registered:
    return name_behind(what->message.registered);
  default:
    return RangeNames::k_none;
  }
}
template <typename Letter>
std::uint16_t number_of_name(const Letter* text) {
  return number_of_text(text);
}

template <typename What>
int domain_push(nvtx::Domain domain, const What* what) {
  if (!is_ignored(domain))
    push_range(name_behind(domain),
               takes_range() ? std::optional(number_of_name(what)) : std::nullopt);
  return nvtx::k_not_tracked;
}
int domain_pop(nvtx::Domain domain) {
  if (!is_ignored(domain))
    pop_range(name_behind(domain));
  return nvtx::k_not_tracked;
}
template <typename What>
nvtx::RangeId domain_start(nvtx::Domain domain, const What* what) {
  return is_ignored(domain) || !is_tracing()
             ? 0
             : start_range(name_behind(domain), number_of_name(what));
}
void domain_end(nvtx::Domain, nvtx::RangeId range) {
  end_range(range);
}

template <typename What>
int push(const What* what) {
  return domain_push(nullptr, what);
}
int pop() {
  return domain_pop(nullptr);
}
template <typename What>
nvtx::RangeId start(const What* what) {
  return domain_start(nullptr, what);
}

template <typename Letter>
nvtx::Domain create_domain(const Letter* text) {
  const RangeName name = name_of(text);
  return handle_of(name.is(k_ignored_domain) ? k_ignored : range_state().names.number_of(name));
}
template <typename Letter>
void* register_string(nvtx::Domain domain, const Letter* text) {
  return handle_of(is_ignored(domain) ? k_ignored : number_of_text(text));
}

struct Entry {
  std::uint32_t number;
  nvtx::Function function;
};
template <typename Returned, typename... Arguments>
Entry entry(std::uint32_t number, Returned (*function)(Arguments...)) {
  return {number, reinterpret_cast<nvtx::Function>(function)};
}

template <std::size_t Count>
bool attach(const nvtx::Callbacks& callbacks, nvtx::Module module, const Entry (&entries)[Count]) {
  nvtx::FunctionTable table = nullptr;
  unsigned functions = 0;
  if (callbacks.module_function_table(module, &table, &functions) != 1 || table == nullptr)
    return false;
  for (const Entry& one : entries)
    if (one.number < functions && table[one.number] != nullptr)
      *table[one.number] = one.function;
  return true;
}

} // namespace

bool attach_to_nvtx(nvtx::GetExportTable get_export_table) {
  const auto* callbacks =
      get_export_table == nullptr
          ? nullptr
          : static_cast<const nvtx::Callbacks*>(get_export_table(nvtx::k_callbacks));
  if (callbacks == nullptr || callbacks->struct_bytes < sizeof *callbacks)
    return false;
  const Entry core[] = {entry(nvtx::k_range_push_ex, push<nvtx::EventAttributes>),
                        entry(nvtx::k_range_push_a, push<char>),
                        entry(nvtx::k_range_push_w, push<wchar_t>),
                        entry(nvtx::k_range_pop, pop),
                        entry(nvtx::k_range_start_ex, start<nvtx::EventAttributes>),
                        entry(nvtx::k_range_start_a, start<char>),
                        entry(nvtx::k_range_start_w, start<wchar_t>),
                        entry(nvtx::k_range_end, end_range)};
  const Entry core2[] = {entry(nvtx::k_domain_range_push_ex, domain_push<nvtx::EventAttributes>),
                         entry(nvtx::k_domain_range_pop, domain_pop),
                         entry(nvtx::k_domain_range_start_ex, domain_start<nvtx::EventAttributes>),
                         entry(nvtx::k_domain_range_end, domain_end),
                         entry(nvtx::k_domain_register_string_a, register_string<char>),
                         entry(nvtx::k_domain_register_string_w, register_string<wchar_t>),
                         entry(nvtx::k_domain_create_a, create_domain<char>),
                         entry(nvtx::k_domain_create_w, create_domain<wchar_t>)};
  // Both, even if one fails: old copies of NVTX have no domains.
  const bool has_core = attach(*callbacks, nvtx::k_core, core);
  return attach(*callbacks, nvtx::k_core2, core2) || has_core;
}

} // namespace ncclprobe::plugin
