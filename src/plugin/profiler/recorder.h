// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/words.h"

#include <cstdint>
#include <vector>

// Records of the profiler interfaces in companion trials; for traces see tracing.h. NCCL calls on
// its own threads, in the middle of its work. The code allocates no memory, takes no lock, and
// counts what does not fit. The state is global in the process, because NCCL finds the plugin by
// name.
namespace ncclprobe::plugin {

// One collective, send or receive as NCCL launched it.
struct Record {
  Word<24> function;
  Word<20> data_type;
  Word<20> algorithm; // empty for sends and receives
  Word<12> protocol;
  std::uint64_t count = 0;
  std::uint64_t communicator = 0; // equal on all of its ranks
  std::int32_t communicator_size = 0;
  std::int32_t rank = 0; // in the communicator
  std::int32_t peer = 0; // -1: none
  std::int32_t channels = 0;
  std::int32_t cell = 0; // -1: none
};

// Until this is called, NCCL continues without a profiler.
void start_recording();
// Later records belong to this cell; -1: to none.
void enter_cell(int cell);

std::vector<Record> recorded();
std::uint64_t not_recorded(); // because memory was full
// Version of the interface that NCCL uses; 0 if it has not called yet.
int interface_version();

// --- for the interfaces ---

// A communicator's context; null if there are too many or nobody records.
void* open_context(int version, std::uint64_t communicator, int size, int rank);
// A free record of that communicator and the current cell, or null.
Record* begin_record(void* context);
// From now on recorded() returns it.
void end_record(Record* record);

} // namespace ncclprobe::plugin
