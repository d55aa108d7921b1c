// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// How a test controls the CUPTI that stands in for CUDA's (fake_cupti.cpp).
extern "C" {
// A kernel or a copy that runs now; recorded if somebody asked for it. `end_ns` 0: no times.
void fake_kernel(const char* name, std::uint64_t start_ns, std::uint64_t end_ns,
                 std::uint32_t stream);
void fake_copy(std::uint8_t kind, std::uint64_t bytes, std::uint64_t start_ns,
               std::uint64_t end_ns);
// Another tool subscribes, or leaves: null.
void fake_other_tool(const char* name);
int fake_is_recording();        // 1: kernels are asked for
int fake_subscriptions();       // so far
std::uint64_t fake_timestamp(); // by the registered clock
// As many records fit into no buffer and were dropped.
std::uint64_t fake_dropped();
}
