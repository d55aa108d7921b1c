// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

// How a test queries or controls a fake_cupti.
extern "C" {
int fake_cupti_records(int kind); // 1: it was asked to record these
int fake_cupti_calls();           // of the driver, as many as were asked for one by one
int fake_cupti_runtime_calls();   // likewise
std::uint8_t* fake_cupti_request(std::size_t* bytes);
void fake_cupti_complete(std::uint8_t* buffer, std::size_t valid_bytes);
}
