// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/tracing.h"

#include "plugin/host_clock.h"
#include "plugin/nvtx/ranges.h"
#include "plugin/profiler/device_ranks.h"
#include "plugin/profiler/provenance.h"
#include "plugin/profiler/trace_rows.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <linux/futex.h>
#include <memory>
#include <mutex>
#include <new>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace ncclprobe::plugin {
namespace {

using namespace std::chrono_literals;

constexpr auto k_shortest_rest = 5ms;
constexpr auto k_longest_rest = 50ms; // the queue must hold the events of this interval
constexpr auto k_between_writes = 200ms;
constexpr std::size_t k_rows_at_once = 16384;
constexpr auto k_to_the_end = 1s; // operations that a limit finds running may take this long

constinit TraceState state;
// on: everything is taken. ending: a limit is reached, so no new operation is, but the ends of
// those that run are. ended: by a limit.
enum class Phase { off, on, ending, ended };
std::atomic<Phase> phase{Phase::off};
std::atomic<Detail> detail_wanted{Detail::channels};
pid_t process = 0; // the process whose events are ours; asking each time would be a system call
std::array<std::atomic<int>, 4096> members{};
std::atomic<std::size_t> members_known{0};
DeviceRanks device_ranks;

// State of the writing thread, and of threads that flush; never used on NCCL's hot paths.
struct Writing {
  Writing(trace::SpoolWriter& whole, GpuClock clock, const Limits& wanted, std::string stem,
          std::unique_ptr<KernelRecording> with)
      : spool(whole), limits(wanted), kernels(std::move(with)),
        rows(state, range_state(), whole, clock, EventSpools(whole, wanted, std::move(stem))) {}
  trace::SpoolWriter& spool;
  Limits limits;
  std::unique_ptr<KernelRecording> kernels;
  TraceRows rows;
  std::mutex mutex;                   // of rows
  std::atomic<std::uint32_t> stop{0}; // a futex
  std::thread thread;
};
Writing* writing = nullptr;

// Until stop() or for so long. A std::condition_variable would need glibc 2.30 to wait for a time.
void rest_for(Writing& own, std::chrono::nanoseconds time) {
  const timespec longest{0, static_cast<long>(time.count())};
  syscall(SYS_futex, &own.stop, FUTEX_WAIT_PRIVATE, 0, &longest, nullptr, 0);
}

void stop(Writing& own) {
  own.stop = 1;
  syscall(SYS_futex, &own.stop, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  own.thread.join();
}

// Everything that is left. No more events come, and the mutex is held or not needed any more.
void write_rest(Writing& own) {
  own.rows.take();
  own.rows.take_unfinished(host_now());
  own.rows.take_clock_readings();
  own.rows.write();
  own.rows.write_losses(host_now());
}

void note(const Writing& own, std::string_view name, const std::string& value) {
  own.spool.note(state.communicators.front().global_rank, name, value);
}

void show_progress(Writing& own, bool ended) {
  if (own.kernels)
    own.kernels->follow({own.rows.steps().is_known(), own.rows.steps().steps(), ended});
}

void write_until_stopped(Writing& own) {
  std::unique_lock lock(own.mutex);
  auto rest = k_shortest_rest;
  const auto start = std::chrono::steady_clock::now();
  auto last_write = start;
  auto end = start;
  StepLimit step_limit(own.limits.steps);
  while (own.stop == 0) {
    std::size_t taken = own.rows.take();
    rest = taken > 0 ? k_shortest_rest : std::min(k_longest_rest, 2 * rest);
    auto now = std::chrono::steady_clock::now();
    if (own.rows.waiting() >= k_rows_at_once || now - last_write >= k_between_writes) {
      if (now - last_write >= k_between_writes)
        own.rows.take_clock_readings();
      own.rows.take_open(host_now());
      own.rows.write();
      own.rows.write_losses(host_now());
      last_write = now;
    }
    if (phase == Phase::ending && now >= end) {
      phase = Phase::ended;
      show_progress(own, true);
      return write_rest(own);
    }
    const auto since_start = static_cast<std::uint64_t>((now - start).count());
    if (const std::string left_out =
            limit_reached(own.limits, since_start,
                          step_limit.is_over(own.rows.steps(), since_start), own.rows.is_full());
        phase == Phase::on && !left_out.empty()) {
      phase = Phase::ending;
      end = now + k_to_the_end;
      note(own, trace::k_missing, left_out);
    }
    show_progress(own, phase != Phase::on);
    lock.unlock();
    rest_for(own, rest);
    lock.lock();
  }
}

// Handles encode an event's kind and place: NCCL only carries them.
enum class HandleKind : std::uint64_t { operation = 1, channel, proxy_operation, step, network };
void* make_handle(HandleKind kind, std::uint64_t number) {
  return reinterpret_cast<void*>(number << 3 | static_cast<std::uint64_t>(kind));
}
HandleKind kind_of(const void* handle) {
  return static_cast<HandleKind>(reinterpret_cast<std::uint64_t>(handle) & 7);
}
std::uint32_t number_of(const void* handle) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(handle) >> 3);
}

std::uint16_t index_of(const Communicator& communicator) {
  return static_cast<std::uint16_t>(&communicator - state.communicators.data());
}

// The operation of a channel, proxy operation or step.
std::uint32_t operation_of(const void* parent) {
  switch (kind_of(parent)) {
  case HandleKind::operation:
    return number_of(parent);
  case HandleKind::proxy_operation:
    return state.proxy_operations.is_open(number_of(parent))
               ? state.proxy_operations.at(number_of(parent)).operation
               : 0;
  case HandleKind::step:
    return state.steps.is_open(number_of(parent)) ? state.steps.at(number_of(parent)).nccl_operation
                                                  : 0;
  default:
    return 0;
  }
}

// A process has one rank, given by its first communicator, unless the process has several ranks
// there.
int global_rank_of(std::uint32_t index, std::uint64_t hash, int rank) {
  if (static_cast<std::size_t>(rank) < members_known.load())
    return members[rank];
  const Communicator& first = state.communicators.front();
  bool has_several = false;
  for (std::uint32_t i = 1; i < index; ++i)
    has_several |= state.communicators[i].hash == first.hash;
  return index == 0 || hash == first.hash || has_several ? rank : first.global_rank;
}

} // namespace

void start_tracing(trace::SpoolWriter& spool, Detail detail, GpuClock clock, const Limits& limits,
                   std::string stem, std::unique_ptr<KernelRecording> kernels) {
  if (writing != nullptr)
    return;
  detail_wanted = detail;
  process = getpid();
  auto made = std::make_unique<Writing>(spool, clock, limits, std::move(stem), std::move(kernels));
  // Signals belong to the program: this thread handles none.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    made->thread = std::thread(write_until_stopped, std::ref(*made));
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  writing = made.release(); // stays: NCCL's threads may outlive all other objects
  phase = Phase::on;
}

void stop_tracing() {
  if (writing == nullptr || process != getpid()) // a forked child has no such thread
    return;
  const Phase before = phase.exchange(Phase::off);
  stop(*writing);
  writing->kernels.reset();
  if (before != Phase::ended)
    write_rest(*writing);
  if (before != Phase::on)
    note(*writing, trace::k_left_out, std::to_string(state.operations_left_out.load()));
  delete std::exchange(writing, nullptr);
}

void flush_tracing() {
  if (writing == nullptr || process != getpid())
    return;
  std::lock_guard lock(writing->mutex);
  writing->rows.take();
  writing->rows.write();
  writing->rows.write_losses(host_now());
}

bool is_tracing() {
  const Phase now = phase.load(std::memory_order_relaxed);
  return now == Phase::on || now == Phase::ending;
}

int traced_rank_of_device(int device) {
  return device_ranks.of(device);
}

void set_operation(std::uint32_t id) {
  state.current_operation.store(id, std::memory_order_relaxed);
}

void set_members(std::span<const int> global_ranks) {
  std::size_t known = std::min(global_ranks.size(), members.size());
  for (std::size_t i = 0; i < known; ++i)
    members[i] = global_ranks[i];
  members_known = known;
}

Communicator* open_communicator(int interface, std::uint64_t hash, const char* name, int nodes,
                                int size, int rank) {
  if (!is_tracing())
    return nullptr;
  std::uint32_t index = state.communicators_made.fetch_add(1);
  if (index >= state.communicators.size())
    return nullptr;
  Communicator& communicator = state.communicators[index];
  communicator.hash = hash;
  communicator.size = size;
  communicator.rank = rank;
  communicator.nodes = nodes;
  communicator.interface = interface;
  communicator.device = current_device();
  communicator.name.set(name);
  communicator.global_rank = global_rank_of(index, hash, rank);
  device_ranks.add(communicator.device, communicator.global_rank, index == 0);
  communicator.messages = new (std::nothrow)
      std::atomic<std::uint32_t>[2 * static_cast<std::size_t>(std::max(0, size))]();
  communicator.variables = new (std::nothrow) Variables(nccl_variables());
  state.events.push(CommunicatorMade{index_of(communicator)});
  return &communicator;
}

bool is_traced_communicator(const void* context) {
  return context >= state.communicators.data() &&
         context < state.communicators.data() + state.communicators.size();
}

std::uint64_t wanted_events() {
  std::uint64_t wanted = abi::k_collective | abi::k_point_to_point;
  if (detail_wanted != Detail::operations)
    wanted |= abi::k_channel;
  if (detail_wanted == Detail::steps)
    wanted |= abi::k_proxy_operation | abi::k_proxy_step | abi::k_network;
  return wanted;
}

void remember_mask(int* mask) {
  state.mask = mask;
}

namespace {

// False: operations that begin now are left out. Called by NCCL, so its mask can be written.
bool takes_operations() {
  const Phase now = phase.load(std::memory_order_relaxed);
  if (now == Phase::on || now == Phase::off)
    return now == Phase::on;
  state.operations_left_out.fetch_add(1, std::memory_order_relaxed);
  if (state.mask.load(std::memory_order_relaxed) != nullptr)
    if (int* mask = state.mask.exchange(nullptr); mask != nullptr)
      std::atomic_ref<int>(*mask).store(static_cast<int>(abi::k_collective | abi::k_point_to_point),
                                        std::memory_order_relaxed);
  return false;
}

// Common to collectives, sends and receives.
template <typename What>
OperationBegun operation_begun(Communicator& communicator, const What& what) {
  OperationBegun begun;
  begun.at_ns = host_now();
  begun.count = what.count;
  begun.id = state.operations_made.fetch_add(1, std::memory_order_relaxed) + 1;
  begun.operation = state.current_operation.load(std::memory_order_relaxed);
  begun.communicator = index_of(communicator);
  begun.function = state.words.number_of(what.function);
  begun.data_type = state.words.number_of(what.data_type);
  begun.channels = what.channels;
  return begun;
}

} // namespace

void* begin_event(Communicator& communicator, const abi::CollectiveV4& what) {
  if (!takes_operations())
    return nullptr;
  OperationBegun begun = operation_begun(communicator, what);
  begun.sequence = what.seq_number;
  begun.root = what.root;
  begun.algorithm = state.words.number_of(what.algorithm);
  begun.protocol = state.words.number_of(what.protocol);
  begun.warps = what.warps;
  state.events.push(begun);
  return make_handle(HandleKind::operation, begun.id);
}

void* begin_event(Communicator& communicator, const abi::PointToPointV4& what) {
  if (!takes_operations())
    return nullptr;
  OperationBegun begun = operation_begun(communicator, what);
  begun.peer = what.peer;
  bool sends = what.function != nullptr && what.function[0] == 'S'; // "Send", "Recv"
  // Messages between two ranks keep their order, so both sides of a message have the same number,
  // even if an event is lost.
  if (communicator.messages != nullptr && what.peer >= 0 && what.peer < communicator.size)
    begun.sequence = communicator.messages[2 * what.peer + (sends ? 0 : 1)].fetch_add(
        1, std::memory_order_relaxed);
  begun.kind = sends ? trace::NcclKind::send : trace::NcclKind::receive;
  state.events.push(begun);
  return make_handle(HandleKind::operation, begun.id);
}

void* begin_event(void* parent, const abi::Channel& what) {
  std::uint64_t at_ns = host_now();
  if (!is_tracing() || kind_of(parent) != HandleKind::operation)
    return nullptr;
  std::uint32_t number = state.channels.take();
  if (number == state.channels.k_none)
    return nullptr;
  trace::NcclChannelRow& row = state.channels.at(number);
  row = {};
  row.start_gt = what.timer_ns;
  row.start_ns = at_ns;
  row.nccl_operation = number_of(parent);
  row.channel = what.channel;
  state.open_channels.begin(number, row.nccl_operation, at_ns);
  return make_handle(HandleKind::channel, number);
}

void* begin_event(void* parent, const abi::ProxyOperation& what) {
  if (phase.load(std::memory_order_relaxed) != Phase::on)
    return nullptr;
  std::uint32_t number = state.proxy_operations.take();
  if (number == state.proxy_operations.k_none)
    return nullptr;
  OpenProxyOperation& open = state.proxy_operations.at(number);
  // A handle of another process (PXN) is meaningless here.
  open.operation = what.process == process ? operation_of(parent) : 0;
  open.peer = what.peer;
  open.channel = what.channel;
  open.is_send = what.is_send != 0 ? 1 : 0;
  return make_handle(HandleKind::proxy_operation, number);
}

void* begin_event(void* parent, const abi::ProxyStep& what) {
  std::uint64_t at_ns = host_now();
  if (!is_tracing() || kind_of(parent) != HandleKind::proxy_operation ||
      !state.proxy_operations.is_open(number_of(parent)))
    return nullptr;
  std::uint32_t number = state.steps.take();
  if (number == state.steps.k_none)
    return nullptr;
  const OpenProxyOperation& operation = state.proxy_operations.at(number_of(parent));
  trace::NcclStepRow& row = state.steps.at(number);
  row = {};
  row.start_ns = at_ns;
  row.nccl_operation = operation.operation;
  row.peer = operation.peer;
  row.channel = operation.channel;
  row.is_send = operation.is_send;
  row.step = what.step;
  return make_handle(HandleKind::step, number);
}

void* begin_event(void* parent, const abi::Network& what) {
  std::uint64_t at_ns = host_now();
  bool infiniband = what.id == abi::k_network_infiniband;
  if (phase.load(std::memory_order_relaxed) != Phase::on || what.data == nullptr ||
      (!infiniband && what.id != abi::k_network_socket))
    return nullptr;
  std::uint32_t number = state.network.take();
  if (number == state.network.k_none)
    return nullptr;
  trace::NcclNetworkRow& row = state.network.at(number);
  row = {};
  row.start_ns = at_ns;
  row.nccl_operation = operation_of(parent);
  if (infiniband) {
    const auto& told = static_cast<const abi::InfiniBandRequest*>(what.data)->request;
    row.kind = trace::NetworkKind::infiniband;
    row.request = told.work_request;
    row.bytes = told.bytes;
  } else {
    const auto& told = static_cast<const abi::SocketRequest*>(what.data)->request;
    row.kind = trace::NetworkKind::socket;
    row.request = static_cast<std::uint64_t>(told.descriptor);
    row.bytes = told.bytes;
  }
  return make_handle(HandleKind::network, number);
}

void enter_state(void* handle, int entered, const abi::StateArguments* arguments) {
  std::uint32_t number = number_of(handle);
  if (kind_of(handle) == HandleKind::channel && entered == abi::k_channel_stop) {
    if (arguments != nullptr && state.channels.is_open(number))
      state.channels.at(number).stop_gt = arguments->channel.timer_ns;
    return;
  }
  if (kind_of(handle) != HandleKind::step || !state.steps.is_open(number))
    return;
  trace::NcclStepRow& row = state.steps.at(number);
  std::uint64_t* at_ns = nullptr;
  switch (entered) {
  case abi::k_step_send_gpu_wait:
  case abi::k_step_receive_wait:
    at_ns = &row.first_ns;
    break;
  case abi::k_step_send_peer_wait:
  case abi::k_step_receive_flush_wait:
    at_ns = &row.second_ns;
    break;
  case abi::k_step_send_wait:
  case abi::k_step_receive_gpu_wait:
    at_ns = &row.third_ns;
    break;
  default:
    return;
  }
  *at_ns = host_now();
  if (arguments != nullptr && arguments->proxy_step.bytes != 0)
    row.bytes = arguments->proxy_step.bytes;
}

void end_event(void* handle) {
  std::uint32_t number = number_of(handle);
  auto finish = [&](auto& open) {
    if (!open.is_open(number))
      return;
    auto row = open.at(number);
    row.stop_ns = host_now();
    open.give_back(number);
    if (is_tracing())
      state.events.push(row);
  };
  switch (kind_of(handle)) {
  case HandleKind::operation:
    if (is_tracing())
      state.events.push(OperationEnqueued{host_now(), number});
    return;
  case HandleKind::channel:
    if (state.channels.is_open(number))
      state.open_channels.end(number);
    return finish(state.channels);
  case HandleKind::step:
    return finish(state.steps);
  case HandleKind::network:
    return finish(state.network);
  case HandleKind::proxy_operation:
    if (state.proxy_operations.is_open(number))
      state.proxy_operations.give_back(number);
    return;
  }
}

} // namespace ncclprobe::plugin
