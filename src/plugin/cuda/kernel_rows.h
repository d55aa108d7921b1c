// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/cuda/cupti_abi.h"
#include "plugin/profiler/event_spools.h"
#include "trace/device_rows.h"
#include "trace/ledger_rows.h"

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ncclprobe::plugin {

// Converts CUPTI's records into rows and writes them after each buffer. One thread at a time.
class KernelRows {
public:
  using NextRecord = decltype(cupti::Functions::cuptiActivityGetNextRecord);
  using RankOfDevice = int (*)(int device);

  // `whole` gets what belongs to the whole process, and unless there is a limit of time, all.
  KernelRows(trace::SpoolWriter& whole, const Limits& limits, std::string stem, NextRecord next,
             RankOfDevice rank_of)
      : whole_(whole), spools_(whole, limits, std::move(stem)), next_(next), rank_of_(rank_of) {}

  // `now_ns`: CLOCK_REALTIME, as EventSpools::make_room() takes it.
  void decode(std::uint8_t* buffer, std::size_t valid_bytes, std::uint64_t now_ns);
  // Kernels were recorded in this time.
  void add(int rank, const trace::KernelWindowRow& row) { spools_.current().append(rank, row); }

  struct Losses {
    std::uint64_t left_out = 0; // rows, because of the limit of bytes
    std::uint64_t no_times = 0; // kernels and copies
    std::uint64_t unknown = 0;  // records, or buffers that end in one
  };
  const Losses& losses() const { return losses_; }

private:
  using RankRows = std::tuple<std::vector<trace::KernelRow>, std::vector<trace::CopyRow>,
                              std::vector<trace::StreamRow>, std::vector<trace::LongRow>>;
  struct Name {
    std::string text;
    bool communication = false;
    trace::TextId id; // in the current spool; 0: not there yet
  };

  void on(const cupti::KernelRecord& record);
  template <typename Record>
  void on_copy(const Record& record, trace::CopyKind kind, std::uint32_t source,
               std::uint32_t destination);
  template <typename Row>
  void set_times(int rank, Row& row, std::uint64_t start_ns, std::uint64_t end_ns);
  std::uint16_t stream_of(std::uint32_t context, std::uint32_t stream, std::uint32_t device);
  void write(std::uint64_t now_ns);

  trace::SpoolWriter& whole_;
  EventSpools spools_;
  NextRecord next_;
  RankOfDevice rank_of_;
  std::map<int, RankRows> rows_;
  std::unordered_map<const char*, std::size_t> numbers_; // of names; CUPTI's strings stay
  std::vector<Name> names_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint16_t> streams_; // by context, number
  std::uint64_t texts_of_ = 0; // EventSpools::begun() when names were written
  Losses losses_;
};

} // namespace ncclprobe::plugin
