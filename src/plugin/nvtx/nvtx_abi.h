// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The part of NVTX 2 and 3 that the plugin uses, declared by hand, because it is built without
// CUDA. A test compares it with NVTX's own headers (tests/nvidia/nvtx_abi_test.cpp).
namespace ncclprobe::plugin::nvtx {

// What NVTX's functions return in a program without a tool.
inline constexpr int k_not_tracked = -2;

enum MessageType : std::int32_t { k_ascii = 1, k_unicode = 2, k_registered = 3 };
struct EventAttributes { // nvtxEventAttributes_t
  std::uint16_t version;
  std::uint16_t struct_bytes; // up to the end of `message` at least
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* unicode;
    void* registered; // what the tool returned for it
  } message;
};
using Domain = void*; // what the tool returned for it; null: the default domain
using RangeId = std::uint64_t;

// Tables of functions: the tool replaces the functions that the entries point to.
using Function = void (*)();
using FunctionTable = Function**;
enum Module : std::int32_t { k_core = 1, k_core2 = 5 };
enum CoreFunction : std::uint32_t {
  k_range_start_ex = 4,
  k_range_start_a = 5,
  k_range_start_w = 6,
  k_range_end = 7,
  k_range_push_ex = 8,
  k_range_push_a = 9,
  k_range_push_w = 10,
  k_range_pop = 11
};
enum Core2Function : std::uint32_t {
  k_domain_range_start_ex = 2,
  k_domain_range_end = 3,
  k_domain_range_push_ex = 4,
  k_domain_range_pop = 5,
  k_domain_register_string_a = 10,
  k_domain_register_string_w = 11,
  k_domain_create_a = 12,
  k_domain_create_w = 13
};
struct Callbacks { // NvtxExportTableCallbacks
  std::size_t struct_bytes;
  int (*module_function_table)(Module module, FunctionTable* table, unsigned* functions); // 1: done
};
inline constexpr std::uint32_t k_callbacks = 1;
using GetExportTable = const void* (*)(std::uint32_t table);

} // namespace ncclprobe::plugin::nvtx
