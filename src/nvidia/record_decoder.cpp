// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/record_decoder.h"

#include "plugin/cuda/record_values.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

namespace ncclprobe::nvidia {

using plugin::copy_kind;
using plugin::product;
using trace::CopyKind;
using trace::SynchronizationKind;

namespace {

constexpr std::uint16_t k_most_streams = UINT16_MAX - 1;

SynchronizationKind synchronization_kind(CUpti_ActivitySynchronizationType told) {
  switch (told) {
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
    return SynchronizationKind::event;
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
    return SynchronizationKind::stream_wait_event;
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
    return SynchronizationKind::stream;
  case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
    return SynchronizationKind::context;
  default:
    return SynchronizationKind::other;
  }
}

std::string_view overhead_name(CUpti_ActivityOverheadKind told) {
  switch (static_cast<std::uint32_t>(told)) { // by number: older headers have no names for the last
  case 1:
    return "driver_compiler";
  case 1U << 16:
    return "buffer_flush";
  case 2U << 16:
    return "instrumentation";
  case 3U << 16:
    return "resource";
  case 4U << 16:
    return "module_loading";
  case 5U << 16:
    return "lazy_function_loading";
  case 6U << 16:
    return "command_buffer_full";
  case 7U << 16:
    return "activity_buffer_request";
  case 8U << 16:
    return "unified_memory_start";
  default:
    return "unknown";
  }
}

} // namespace

RecordDecoder::RecordDecoder(model::TraceLevel level, trace::SpoolWriter& spool,
                             std::map<int, int> rank_of_device, const OperationLog& operations,
                             NextRecord next, CallName call_name)
    : level_(level), spool_(spool), rank_of_device_(std::move(rank_of_device)),
      first_rank_(rank_of_device_.empty() ? -1 : rank_of_device_.begin()->second),
      operations_(operations), next_(next), call_name_(call_name) {}

int RecordDecoder::rank_of(std::uint32_t device) const {
  auto found = rank_of_device_.find(static_cast<int>(device));
  return found == rank_of_device_.end() ? first_rank_ : found->second;
}

void RecordDecoder::decode(std::uint8_t* buffer, std::size_t valid_bytes) {
  CUpti_Activity* next = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while (valid_bytes > 0 && (result = next_(buffer, valid_bytes, &next)) == CUPTI_SUCCESS)
    record(*next);
  if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_MAX_LIMIT_REACHED)
    ++counts_.unknown; // the rest of this buffer cannot be read
  look_again(waiting_kernels_, k_most_waiting);
  look_again(waiting_copies_, k_most_waiting);
  write_rows();
}

void RecordDecoder::write_waiting() {
  look_again(waiting_kernels_, 0);
  look_again(waiting_copies_, 0);
  write_rows();
}

void RecordDecoder::write_rows() {
  for (auto& [rank, rows] : rows_)
    spool_.take(rank, rows);
}

RecordDecoder::Counts RecordDecoder::counts() const {
  Counts counts = counts_;
  for (const auto& [id, graph] : graphs_)
    counts.launches += graph.launches * graph.most_kernels;
  counts.launches += graph_launches_ - std::min(graph_launches_, graph_launches_done_);
  return counts;
}

void RecordDecoder::record(const CUpti_Activity& record) {
  switch (record.kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
  case CUPTI_ACTIVITY_KIND_KERNEL:
    return on(reinterpret_cast<const KernelRecord&>(record));
  case CUPTI_ACTIVITY_KIND_MEMCPY: {
    const auto& copy = reinterpret_cast<const CopyRecord&>(record);
    return on_copy(copy, copy_kind(copy.copyKind), copy.deviceId, copy.deviceId);
  }
  case CUPTI_ACTIVITY_KIND_MEMCPY2: {
    const auto& copy = reinterpret_cast<const PeerCopyRecord&>(record);
    return on_copy(copy, CopyKind::peer, copy.srcDeviceId, copy.dstDeviceId);
  }
  case CUPTI_ACTIVITY_KIND_MEMSET: {
    const auto& set = reinterpret_cast<const SetRecord&>(record);
    return on_copy(set, CopyKind::set, set.deviceId, set.deviceId);
  }
  case CUPTI_ACTIVITY_KIND_RUNTIME:
  case CUPTI_ACTIVITY_KIND_DRIVER:
    return on(reinterpret_cast<const CallRecord&>(record));
  case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
    return on(reinterpret_cast<const OperationRecord&>(record));
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
    return on_synchronization(reinterpret_cast<const SynchronizationRecord&>(record));
  case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
    return on_event(reinterpret_cast<const EventRecord&>(record));
  case CUPTI_ACTIVITY_KIND_OVERHEAD:
    return on_overhead(reinterpret_cast<const OverheadRecord&>(record));
  case CUPTI_ACTIVITY_KIND_ENVIRONMENT:
    return on(reinterpret_cast<const EnvironmentRecord&>(record));
  case CUPTI_ACTIVITY_KIND_STREAM: {
    const auto& stream = reinterpret_cast<const CUpti_ActivityStream&>(record);
    priorities_[std::uint64_t{stream.contextId} << 32 | stream.streamId] =
        static_cast<std::int32_t>(stream.priority);
    return;
  }
  default:
    ++counts_.unknown;
  }
}

template <typename Row>
void RecordDecoder::set_times(int rank, Row& row, std::uint64_t start_ns, std::uint64_t end_ns) {
  row.start_ns = start_ns;
  std::uint64_t duration_ns = end_ns - start_ns;
  row.duration_ns = trace::short_duration(duration_ns);
  if (duration_ns >= trace::k_long_duration)
    add(rank, trace::LongRow{start_ns, duration_ns, Row::k_table});
}

template <typename Row>
bool RecordDecoder::join(Waiting<Row>& waiting) {
  const CallTable::Call* call = calls_.find(waiting.row.correlation);
  if (call == nullptr || !call->has_record)
    return false;
  waiting.row.operation = call->operation;
  return true;
}

template <typename Row>
void RecordDecoder::add_when_known(Waiting<Row> waiting) {
  std::deque<Waiting<Row>>* others = nullptr;
  if constexpr (std::is_same_v<Row, trace::KernelRow>)
    others = &waiting_kernels_;
  else
    others = &waiting_copies_;
  others->push_back(std::move(waiting));
}

// Rows leave in the order of their arrival; all but the latest `leave` are written.
template <typename Row>
void RecordDecoder::look_again(std::deque<Waiting<Row>>& waiting, std::size_t leave) {
  std::deque<Waiting<Row>> still;
  std::size_t surplus = waiting.size() > leave ? waiting.size() - leave : 0;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    Waiting<Row>& one = waiting[i];
    if (!join(one) && i >= surplus) {
      still.push_back(one);
      continue;
    }
    if (one.own && one.row.operation == 0)
      one.row.flags |= trace::k_helper;
    add(one.rank, one.row);
  }
  waiting.swap(still);
}

const RecordDecoder::Name& RecordDecoder::name_of(const char* told) {
  auto [place, is_new] = names_.try_emplace(told);
  if (is_new) {
    KernelName name = kernel_name(told);
    place->second = {spool_.intern(name.text), name.communication, name.own};
  }
  return place->second;
}

std::uint16_t RecordDecoder::stream_of(std::uint32_t context, std::uint32_t stream,
                                       std::uint32_t device) {
  std::uint64_t key = std::uint64_t{context} << 32 | stream;
  if (auto found = streams_.find(key); found != streams_.end())
    return found->second;
  auto id = static_cast<std::uint16_t>(std::min<std::size_t>(streams_.size(), k_most_streams));
  streams_.emplace(key, id);
  trace::StreamRow row;
  row.id = id;
  row.device = static_cast<std::uint16_t>(device);
  row.context = context;
  row.library_id = stream;
  if (auto priority = priorities_.find(key); priority != priorities_.end())
    row.priority = priority->second;
  add(rank_of(device), row);
  return id;
}

void RecordDecoder::on(const KernelRecord& record) {
  if (CallTable::Call* call = calls_.at(record.correlationId)) {
    ++call->kernels;
    if (record.graphNodeId != 0) {
      GraphCount& graph = graphs_[record.graphId];
      if (call->kernels == 1) {
        ++graph.launches;
        if (!call->has_copy)
          ++graph_launches_done_;
      }
      graph.most_kernels = std::max(graph.most_kernels, call->kernels);
    }
  }
  const Name& name = name_of(record.name);
  Waiting<trace::KernelRow> waiting;
  waiting.rank = rank_of(record.deviceId);
  waiting.own = name.own;
  trace::KernelRow& row = waiting.row;
  row.name = name.id;
  row.correlation = record.correlationId;
  row.graph_node = record.graphNodeId;
  row.grid = product(record.gridX, record.gridY, record.gridZ);
  row.block = product(record.blockX, record.blockY, record.blockZ);
  row.shared_bytes = static_cast<std::uint32_t>(record.staticSharedMemory) +
                     static_cast<std::uint32_t>(record.dynamicSharedMemory);
  row.stream = stream_of(record.contextId, record.streamId, record.deviceId);
  if (name.communication)
    row.flags |= trace::k_communication;
  if (record.start == 0 || record.end < record.start) {
    row.flags |= trace::k_no_times;
    ++counts_.no_times;
  } else {
    set_times(waiting.rank, row, record.start, record.end);
    ++counts_.kernels;
  }
  add_when_known(std::move(waiting));
}

template <typename Record>
void RecordDecoder::on_copy(const Record& record, CopyKind kind, std::uint32_t source,
                            std::uint32_t destination) {
  if (CallTable::Call* call = calls_.at(record.correlationId); call != nullptr && !call->has_copy) {
    call->has_copy = true;
    if (record.graphNodeId != 0 && call->kernels == 0)
      ++graph_launches_done_;
  }
  Waiting<trace::CopyRow> waiting;
  waiting.rank = rank_of(record.deviceId);
  trace::CopyRow& row = waiting.row;
  row.bytes = record.bytes;
  row.kind = kind;
  row.source_device = static_cast<std::uint8_t>(source);
  row.destination_device = static_cast<std::uint8_t>(destination);
  row.correlation = record.correlationId;
  row.graph_node = record.graphNodeId;
  row.stream = stream_of(record.contextId, record.streamId, record.deviceId);
  if (record.start == 0 || record.end < record.start)
    row.flags |= trace::k_no_times;
  else
    set_times(waiting.rank, row, record.start, record.end);
  add_when_known(std::move(waiting));
}

void RecordDecoder::on(const CallRecord& record) {
  CallPurpose purpose = purposes_.of(record.kind, record.cbid);
  // A CUPTI that cannot choose calls reports all of them.
  bool wanted = purpose != CallPurpose::other &&
                (purpose != CallPurpose::order || level_ != model::TraceLevel::kernels);
  if (!wanted)
    return;
  bool of_runtime = record.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  bool launches = purpose == CallPurpose::launch || purpose == CallPurpose::graph_launch;
  if (launches)
    ++(of_runtime ? counts_.runtime_calls : counts_.driver_calls);
  // A call of the runtime and the driver call that it makes have the same number.
  CallTable::Call* call = calls_.at(record.correlationId);
  bool is_first = call == nullptr || !call->has_record;
  bool is_captured = false;
  if (is_first) {
    std::uint32_t operation = operations_.at(record.threadId, record.start);
    is_captured = operation == OperationLog::k_captured;
    if (call != nullptr) {
      call->has_record = true;
      call->operation = is_captured ? 0 : operation;
      if (!is_captured)
        compare(*call);
    }
  }
  bool asks_device = is_first && record.returnValue == 0 && !is_captured;
  if (asks_device && purpose == CallPurpose::launch)
    ++counts_.launches;
  if (asks_device && purpose == CallPurpose::graph_launch)
    ++graph_launches_;
  if (level_ == model::TraceLevel::kernels)
    return;
  trace::ApiRow row;
  row.correlation = record.correlationId;
  row.thread = record.threadId;
  row.result = record.returnValue;
  row.function = static_cast<std::uint16_t>(record.cbid);
  row.domain = of_runtime ? trace::CallDomain::runtime : trace::CallDomain::driver;
  row.name = call_name_of(of_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
                          record.cbid);
  set_times(first_rank_, row, record.start, std::max(record.start, record.end));
  add(first_rank_, row);
}

// The two records of a call may come in either order.
void RecordDecoder::compare(CallTable::Call& call) {
  if (call.told == 0 || !call.has_record)
    return;
  ++counts_.calls_told;
  if (call.told != call.operation)
    ++counts_.calls_unlike;
  call.told = 0;
}

void RecordDecoder::on(const OperationRecord& record) {
  if (record.externalKind != k_operation_kind)
    return;
  CallTable::Call* call = calls_.at(record.correlationId);
  if (call == nullptr)
    return;
  call->told = static_cast<std::uint32_t>(record.externalId);
  compare(*call);
}

trace::TextId RecordDecoder::call_name_of(CUpti_CallbackDomain domain, std::uint32_t function) {
  auto [place, is_new] = call_names_.try_emplace({domain, function});
  const char* name = nullptr;
  if (is_new && call_name_ != nullptr && call_name_(domain, function, &name) == CUPTI_SUCCESS &&
      name != nullptr)
    place->second = spool_.intern(name);
  return place->second;
}

template <typename Record>
void RecordDecoder::on_synchronization(const Record& record) {
  trace::SynchronizationRow row;
  row.kind = synchronization_kind(record.type);
  row.correlation = record.correlationId;
  row.stream = trace::k_no_stream;
  // CUPTI writes "none" as all ones. The record does not name the device; it is that of the
  // context's streams, which are known if anything ran on them.
  if (record.streamId != static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE)) {
    auto found = streams_.find(std::uint64_t{record.contextId} << 32 | record.streamId);
    if (found != streams_.end())
      row.stream = found->second;
  }
  if (record.cudaEventId != static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE)) {
    row.event = record.cudaEventId;
    if constexpr (requires { record.cudaEventSyncId; })
      row.event_instance = record.cudaEventSyncId;
  }
  set_times(first_rank_, row, record.start, std::max(record.start, record.end));
  add(first_rank_, row);
}

template <typename Record>
void RecordDecoder::on_event(const Record& record) {
  if constexpr (requires { record.deviceTimestamp; }) {
    trace::DeviceEventRow row;
    row.at_ns = record.deviceTimestamp;
    row.instance = record.cudaEventSyncId;
    row.event = record.eventId;
    row.correlation = record.correlationId;
    row.stream = stream_of(record.contextId, record.streamId, record.deviceId);
    add(rank_of(record.deviceId), row);
  }
}

template <typename Record>
void RecordDecoder::on_overhead(const Record& record) {
  trace::OverheadRow row;
  row.kind = spool_.intern(overhead_name(record.overheadKind));
  if (record.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD)
    row.thread = record.objectId.pt.threadId;
  set_times(first_rank_, row, record.start, std::max(record.start, record.end));
  add(first_rank_, row);
  if constexpr (requires { record.overheadData; })
    std::free(record.overheadData); // NOLINT: the reader must free it
}

void RecordDecoder::on(const EnvironmentRecord& record) {
  trace::EnvironmentRow row;
  row.at_ns = record.timestamp;
  switch (record.environmentKind) {
  case CUPTI_ACTIVITY_ENVIRONMENT_SPEED:
    row.sm_clock_mhz = record.data.speed.smClock;
    row.memory_clock_mhz = record.data.speed.memoryClock;
    row.throttle_reasons = static_cast<std::uint64_t>(record.data.speed.clocksThrottleReasons);
    break;
  case CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE:
    row.temperature_c = record.data.temperature.gpuTemperature;
    break;
  case CUPTI_ACTIVITY_ENVIRONMENT_POWER:
    row.power_mw = record.data.power.power;
    break;
  default:
    return; // fans
  }
  add(rank_of(record.deviceId), row);
}

} // namespace ncclprobe::nvidia
