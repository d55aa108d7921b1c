// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/cuda/kernel_name.h"
#include "trace/rows.h"
#include "trace/spool_writer.h"

#include "model/trial.h"
#include "nvidia/activity_records.h"
#include "nvidia/call_table.h"
#include "nvidia/operation_log.h"
#include "nvidia/traced_calls.h"

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace ncclprobe::nvidia {

using plugin::kernel_name;
using plugin::KernelName;

// Converts CUPTI's records into rows and writes them table by table after each buffer. Needs no
// GPU. One thread at a time.
class RecordDecoder {
public:
  // cuptiActivityGetNextRecord, or a replacement in tests.
  using NextRecord = CUptiResult (*)(std::uint8_t* buffer, std::size_t valid_bytes,
                                     CUpti_Activity** record);

  // cuptiGetCallbackName, or a replacement in tests; null: calls have no names.
  using CallName = CUptiResult (*)(CUpti_CallbackDomain domain, std::uint32_t function,
                                   const char** name);

  // Kernels and copies that wait for the record of their call; beyond this number the oldest are
  // written without it.
  static constexpr std::size_t k_most_waiting = 1 << 16;

  // `operations` must outlive it.
  RecordDecoder(model::TraceLevel level, trace::SpoolWriter& spool,
                std::map<int, int> rank_of_device, const OperationLog& operations, NextRecord next,
                CallName call_name = nullptr);

  void decode(std::uint8_t* buffer, std::size_t valid_bytes);
  // No more calls come for waiting kernels and copies.
  void write_waiting();

  struct Counts {
    // Launches as the host made them; a graph launch counts once for each of its kernels.
    std::uint64_t launches = 0;
    std::uint64_t kernels = 0;       // delivered, with times
    std::uint64_t no_times = 0;      // kernels without times or with reversed ones
    std::uint64_t unknown = 0;       // unknown records, or buffers that end in one
    std::uint64_t runtime_calls = 0; // records of launching calls, by caller;
    std::uint64_t driver_calls = 0;  // one launch may have both
    // Calls whose operation CUPTI itself reported (level full), and how many of them differ from
    // the operation found by the call's time.
    std::uint64_t calls_told = 0;
    std::uint64_t calls_unlike = 0;
  };
  Counts counts() const;

private:
  template <typename Row>
  struct Waiting {
    int rank = 0;
    Row row;
    bool own = false;
  };
  struct Name {
    trace::TextId id;
    bool communication = false;
    bool own = false;
  };
  struct GraphCount {
    std::uint64_t launches = 0;
    std::uint32_t most_kernels = 0; // in one launch; every launch has as many
  };
  using RankRows = std::tuple<std::vector<trace::KernelRow>, std::vector<trace::CopyRow>,
                              std::vector<trace::ApiRow>, std::vector<trace::SynchronizationRow>,
                              std::vector<trace::DeviceEventRow>, std::vector<trace::OverheadRow>,
                              std::vector<trace::EnvironmentRow>, std::vector<trace::StreamRow>,
                              std::vector<trace::LongRow>>;

  void record(const CUpti_Activity& record);
  void on(const KernelRecord& record);
  template <typename Record>
  void on_copy(const Record& record, trace::CopyKind kind, std::uint32_t source,
               std::uint32_t destination);
  void on(const CallRecord& record);
  // Data that not every CUPTI reports.
  template <typename Record>
  void on_synchronization(const Record& record);
  template <typename Record>
  void on_event(const Record& record);
  template <typename Record>
  void on_overhead(const Record& record);
  void on(const EnvironmentRecord& record);
  void on(const OperationRecord& record);
  void compare(CallTable::Call& call);

  template <typename Row>
  void add(int rank, const Row& row) {
    std::get<std::vector<Row>>(rows_[rank]).push_back(row);
  }
  template <typename Row>
  void set_times(int rank, Row& row, std::uint64_t start_ns, std::uint64_t end_ns);
  template <typename Row>
  void add_when_known(Waiting<Row> waiting);
  template <typename Row>
  bool join(Waiting<Row>& waiting);
  template <typename Row>
  void look_again(std::deque<Waiting<Row>>& waiting, std::size_t leave);
  void write_rows();
  int rank_of(std::uint32_t device) const;
  const Name& name_of(const char* told);
  trace::TextId call_name_of(CUpti_CallbackDomain domain, std::uint32_t function);
  std::uint16_t stream_of(std::uint32_t context, std::uint32_t stream, std::uint32_t device);

  model::TraceLevel level_;
  trace::SpoolWriter& spool_;
  std::map<int, int> rank_of_device_;
  int first_rank_; // owner of records that name no device
  const OperationLog& operations_;
  NextRecord next_;
  CallName call_name_;
  CallPurposes purposes_;
  CallTable calls_;
  std::map<int, RankRows> rows_;
  std::deque<Waiting<trace::KernelRow>> waiting_kernels_;
  std::deque<Waiting<trace::CopyRow>> waiting_copies_;
  std::unordered_map<const char*, Name> names_; // CUPTI's strings stay where they are
  std::map<std::pair<CUpti_CallbackDomain, std::uint32_t>, trace::TextId> call_names_;
  std::unordered_map<std::uint64_t, std::uint16_t> streams_;
  std::unordered_map<std::uint64_t, std::int32_t> priorities_;
  std::map<std::uint32_t, GraphCount> graphs_;
  std::uint64_t graph_launches_ = 0;      // calls
  std::uint64_t graph_launches_done_ = 0; // whose kernels or copies have come
  Counts counts_;
};

} // namespace ncclprobe::nvidia
