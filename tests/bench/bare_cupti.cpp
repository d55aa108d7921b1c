// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What CUPTI itself costs, for jobs_on_gpus.py: a library for CUDA_INJECTION64_PATH that only
// counts kernels and copies, and prints the count when the process ends.

#include "plugin/cuda/loaded_cupti.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace ncclprobe::plugin;

namespace {

constexpr std::size_t k_buffer_bytes = std::size_t{1} << 20;
std::atomic<std::uint64_t> records{0};

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::malloc(k_buffer_bytes)); // NOLINT: CUPTI holds it
  *bytes = *buffer == nullptr ? 0 : k_buffer_bytes;
  *most_records = 0; // as many as fit
}

void count_records(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (cupti::Record* record = nullptr;
       loaded_cupti().call.cuptiActivityGetNextRecord(buffer, valid, &record) == cupti::k_success;)
    ++records;
  std::free(buffer); // NOLINT: from give_buffer()
}

void print_records() {
  (void)loaded_cupti().call.cuptiActivityFlushAll(cupti::k_flush_forced);
  std::printf("bare_cupti: %llu records\n", static_cast<unsigned long long>(records));
}

} // namespace

extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  const LoadedCupti& cupti = loaded_cupti();
  if (!cupti.problem.empty()) {
    std::printf("bare_cupti: %s\n", cupti.problem.c_str());
    return 1;
  }
  (void)cupti.call.cuptiActivityRegisterCallbacks(give_buffer, count_records);
  for (std::uint32_t kind : {cupti::k_kernel, cupti::k_copy})
    if (cupti.call.cuptiActivityEnable(kind) != cupti::k_success)
      std::printf("bare_cupti: CUPTI does not record kind %u\n", kind);
  (void)std::atexit(print_records);
  return 1; // CUDA takes 0 as a failure
}
