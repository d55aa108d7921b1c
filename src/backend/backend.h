// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/tracer.h"
#include "base/error.h"
#include "model/data_pattern.h"
#include "model/record.h"
#include "model/schedule.h"
#include "model/trial.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The interface between the schedule runner and the code that moves data. A worker uses it, so
// errors are thrown (Exception): Errc::unsupported makes a cell `skipped`, anything else
// `failed`. One thread drives a backend. Enqueueing calls return at once; work runs in stream
// order.
namespace ncclprobe::backend {

class Event {
public:
  virtual ~Event() = default;
  // Whether its stream has reached the latest record(). A backend whose enqueueing takes negligible
  // time may always return false.
  virtual bool reached() { return false; }
};

// The purpose of an event. Only timing events may be passed to Device::elapsed_ns().
enum class EventUse { order, time };

// Keeps a buffer registered with a communicator. It must be destroyed before both.
class Registration {
public:
  virtual ~Registration() = default;
};

// Work that was captured once and is enqueued again as a whole, in order with the other work on its
// streams. It must be destroyed before its communicators and buffers.
class Graph {
public:
  virtual ~Graph() = default;
  virtual void launch() = 0;
};

struct Mismatch {
  std::uint64_t elements = 0; // elements examined
  std::uint64_t wrong = 0;
  std::uint64_t first = 0; // index of the first wrong element, if any
  std::uint64_t first_bits = 0;
};

// Memory of one device. The calls are synchronous; no stream may be using the buffer.
class Buffer {
public:
  virtual ~Buffer() = default;
  virtual std::uint64_t size_bytes() const = 0;
  virtual void poison_bytes(std::uint64_t offset, std::uint64_t bytes) = 0; // to k_poison_byte
  void poison() { poison_bytes(0, size_bytes()); }
  // Whether all bytes still have that value. The result counts bytes.
  virtual Mismatch compare_poison(std::uint64_t offset, std::uint64_t bytes) = 0;
  // Elements 0 .. count-1 from offset: pattern.number(rank, i) in the type.
  virtual void fill(std::uint64_t offset, model::DataType, const model::Pattern&, int rank,
                    std::uint64_t count) = 0;
  virtual Mismatch compare(std::uint64_t offset, model::DataType, const model::Pattern&,
                           const model::Expectation&) = 0;
  virtual void read(std::uint64_t offset, std::span<std::byte> into) = 0;
  virtual void write(std::uint64_t offset, std::span<const std::byte> from) = 0;
  // The handle that another process on this host needs to map the buffer (Device::map_shared). It
  // stays the same as long as the buffer exists.
  virtual std::string share() {
    raise(Errc::unsupported, "this memory cannot be shared with other processes");
  }
};

struct Place {
  Buffer& buffer;
  std::uint64_t offset = 0;
};

struct CopyCall {
  Place from;
  Place to;
  std::uint64_t bytes = 0;
  model::CopyMeans means = model::CopyMeans::copy_engine;
};

// A walk along a chain of pointers (model::ChaseOp).
struct ChaseCall {
  Place through;
  std::uint64_t bytes = 0;
  std::uint64_t stride_bytes = 0;
  std::uint64_t hops = 0;
  Place result; // on the stream's device
};

struct GemmCall {
  Place a, b, c;
  std::uint64_t m = 0, n = 0, k = 0, batch = 1;
  model::DataType type = model::DataType::f32;
  model::GemmLayout layout = model::GemmLayout::nn;
  model::GemmMath math = model::GemmMath::full;
};

struct ConvertCall {
  Place from, into;
  std::uint64_t count = 0;
  model::DataType from_type = model::DataType::f32;
  model::DataType into_type = model::DataType::f32;
};

struct OptimizerCall {
  Place gradients, weights, state;
  std::uint64_t count = 0;
  model::DataType type = model::DataType::f32;
};

class Stream {
public:
  virtual ~Stream() = default;
  virtual void record(Event&) = 0;
  virtual void wait(Event&) = 0;                    // on the latest record() before this call
  virtual void spin(std::uint64_t duration_ns) = 0; // keeps the stream busy
  // Keeps the stream busy, and the whole device (model::SpinOp::is_load). It may last longer if the
  // device is shared. prepare_load() is called before a cell starts, and may measure the device.
  virtual void load(std::uint64_t duration_ns) { spin(duration_ns); }
  virtual void prepare_load() {}
  // Copies between any two buffers of the process. The stream's device executes them.
  virtual void copy(const CopyCall&) = 0;
  // Throws Errc::unsupported, with the reason, if the copy is impossible. Called before a cell
  // starts; does the one-time set-up between two devices.
  virtual void prepare(const CopyCall& call) {
    if (call.means != model::CopyMeans::copy_engine)
      raise(Errc::unsupported, "this backend has no copies of kind {}", to_string(call.means));
  }
  virtual void chase(const ChaseCall& call) { prepare(call); }
  virtual void prepare(const ChaseCall&) {
    raise(Errc::unsupported, "this backend cannot follow pointers through memory");
  }
  // Compute operations of training (model::GemmOp and its neighbours). prepare() is called before a
  // cell starts, as above, and chooses how a product is computed.
  virtual void multiply(const GemmCall& call) { prepare(call); }
  virtual void prepare(const GemmCall&) {
    raise(Errc::unsupported, "this backend does not multiply matrices");
  }
  virtual void convert(const ConvertCall&) {
    raise(Errc::unsupported, "this backend does not convert elements");
  }
  virtual void optimize(const OptimizerCall&) {
    raise(Errc::unsupported, "this backend has no optimizer");
  }
  virtual void mark(std::string_view label) = 0;
  // Whether everything enqueued so far is done. Throws an error that occurred in the stream. May
  // wait up to a millisecond, so a caller that polls does not take the CPU from the work
  // itself.
  virtual bool idle() = 0;
};

struct CollectiveCall {
  model::Collective collective; // is_one_call()
  Place send;
  Place receive;
  std::uint64_t count; // as in NCCL's call of that name
  model::DataType type;
  model::ReduceOp op;
  int root;
};

class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Throws Errc::unsupported, with the reason, if the collective is impossible. Called before a
  // cell starts, so all ranks skip it together. send_recv stands for sends and receives.
  virtual void require_support(model::Collective, model::DataType, model::ReduceOp) {}
  virtual void enqueue(const CollectiveCall&, Stream&) = 0;
  virtual void send(Place, std::uint64_t count, model::DataType, int peer, Stream&) = 0;
  virtual void receive(Place, std::uint64_t count, model::DataType, int peer, Stream&) = 0;
  virtual void check() = 0; // throws an asynchronous error, if there is one
  // For memory of Device::allocate_registrable().
  virtual std::unique_ptr<Registration> register_buffer(Buffer&) {
    raise(Errc::unsupported, "this backend does not register memory");
  }
};

// One GPU, or one rank's slot on the CPU.
class Device {
public:
  virtual ~Device() = default;
  virtual std::unique_ptr<Buffer>
  allocate(std::uint64_t bytes) = 0; // Errc::unavailable if too little memory
  virtual std::unique_ptr<Stream> open_stream(int priority) = 0;
  virtual std::unique_ptr<Event> create_event(EventUse) = 0;
  // Time between two events of this device's streams; negative if `begin` came later. Both must
  // have been recorded, and their streams must be idle.
  virtual std::int64_t elapsed_ns(Event& begin, Event& end) = 0;
  // Memory that communicators can register, allocated by the library under test.
  virtual std::unique_ptr<Buffer> allocate_registrable(std::uint64_t) {
    raise(Errc::unsupported, "this backend has no memory that is registered with communicators");
  }
  // Host memory close to this device; `memory` is pinned_host or pageable_host.
  virtual std::unique_ptr<Buffer> allocate_on_host(std::uint64_t, model::Memory) {
    raise(Errc::unsupported, "this backend's devices have no memory other than the host's");
  }
  // Memory that other processes may map, if allocate()'s memory cannot be mapped.
  virtual std::unique_ptr<Buffer> allocate_shared(std::uint64_t) {
    raise(Errc::unsupported, "this backend does not share memory between processes");
  }
  // A buffer of another process on this host, mapped for this device. `handle` comes from share().
  // The other process must keep the buffer while it is mapped.
  virtual std::unique_ptr<Buffer> map_shared(const std::string& /*handle*/,
                                             std::uint64_t /*bytes*/) {
    raise(Errc::unsupported, "this backend does not share memory between processes");
  }
  // Current clocks, temperature and power. The caller fills in rank and times. Absent if nothing
  // can be read. Any thread may call this and the next two functions at any time.
  virtual std::optional<model::Condition> read_condition() { return std::nullopt; }
  // Adds the traffic on the device's links. Any thread may call it, but it takes some 40 ms, so
  // only long cells use it.
  virtual void read_traffic(model::Condition&) {}
  // Adds the other processes on the device, and its error counts.
  virtual void read_company(model::Condition&) {}
};

// How ranks exchange the data that they need before they can communicate. The supervisors relay it.
class Rendezvous {
public:
  virtual ~Rendezvous() = default;
  // All-gather: each member contributes bytes once under `key`. `own` holds the contributions of
  // this process's members by global rank. Returns all, in the order of `members`. Blocks.
  virtual std::vector<std::string> exchange(const std::string& key, const std::vector<int>& members,
                                            const std::map<int, std::string>& own) = 0;
};

struct Member {
  int global_rank;
  int rank; // in the communicator
  Device* device;
};

// A member of a communicator that is being split. `member.rank` is its rank in the new
// communicator. With -1 it is not a member there, but must take part in the call.
struct SplitMember {
  Communicator* parent;
  Member member;
};

// All inputs of a backend, as data: no code below main reads the environment.
struct Options {
  std::map<std::string, std::string> environment;
  std::vector<model::Setting> libraries; // name -> path
  std::vector<int> host_of_rank;         // host number by global rank
  std::uint64_t seed = 0;
  int trial = 0;
  int replicate = 0;
};

class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual bool moves_data() const = 0; // false: timing model only, data cannot be checked
  virtual std::unique_ptr<Device> open_device(int index) = 0;
  // One communicator for each of this process's members, in the order of `local`. All processes
  // that have members call it. `size` is the number of ranks, `ranks` their global ranks. `key` is
  // unique in the trial.
  virtual std::vector<std::unique_ptr<Communicator>> connect(const std::string& key,
                                                             const std::vector<int>& ranks,
                                                             std::span<const Member> local,
                                                             Rendezvous&) = 0;
  // Captures what `enqueue` puts on the streams, without running it. `streams` must hold all
  // streams that it uses, in one list per device; no list is empty.
  virtual std::unique_ptr<Graph> capture(std::span<const std::vector<Stream*>>,
                                         const std::function<void()>& /*enqueue*/) {
    raise(Errc::unsupported, "the {} backend cannot capture a schedule as a graph", name());
  }
  // A communicator of some members of another, `ranks` their global ranks. All processes that have
  // members of the parent call it, with all these members in `local`. Returns one communicator for
  // each of this process's members in the new one. A backend without a split call connects instead.
  virtual std::vector<std::unique_ptr<Communicator>> split(const std::string& key,
                                                           const std::vector<int>& ranks,
                                                           std::span<const SplitMember> local,
                                                           Rendezvous& rendezvous) {
    std::vector<Member> members;
    for (const SplitMember& one : local)
      if (one.member.rank >= 0)
        members.push_back(one.member);
    if (members.empty())
      return {};
    return connect(key, ranks, members, rendezvous);
  }
  // Changes what is enqueued from now on, on all devices and communicators. These settings replace
  // those of the call before; an empty list restores what the process started with and never
  // throws. Names and values: model/in_process.h. No stream is busy. All ranks of a communicator
  // call it with the same settings between the same two operations. Throws Errc::unsupported,
  // naming the setting, if it cannot be changed here; then nothing has changed.
  virtual void apply(const std::vector<model::Setting>& settings) {
    if (!settings.empty())
      raise(Errc::unsupported, "the {} backend cannot change {} within a process", name(),
            settings.front().name);
  }
  virtual void group_begin() = 0;
  virtual void group_end() = 0;
  // The library's own estimate of how long the collective in `enqueue` takes, for all local ranks,
  // in us. The collective is not launched. Nothing if the library gives no estimate.
  virtual std::optional<double> estimate_us(const std::function<void()>& /*enqueue*/) {
    return std::nullopt;
  }
  // Work that is enqueued after this begins at about the same time on all ranks of the
  // communicator, regardless of when their hosts call. One stream per local member; null for a
  // member that only takes part. A backend whose ranks leave max_over_ranks() together does
  // nothing.
  virtual void align(std::span<Communicator* const>, std::span<Stream* const>) {}
  // Largest `value` over all ranks of the communicator of the local members. It returns only after
  // all ranks have called. Serves as the barrier, and to agree on counts.
  virtual double max_over_ranks(std::span<Communicator* const> local, double value) = 0;
  virtual std::int64_t now_ns() = 0; // the clock of the samples
  // How much of that device's memory all processes together use now. Allocates nothing. Nothing if
  // the device does not report it.
  virtual std::optional<std::uint64_t> memory_used(int /*index*/) { return std::nullopt; }
  // Called once, before any device is opened.
  virtual std::unique_ptr<Tracer> start_trace(const TraceRequest&) {
    raise(Errc::unsupported, "the {} backend cannot be traced", name());
  }
  // Why something that was enqueued since apply() did not follow its settings: the library cannot
  // do it that way and did it in its own. The same on all ranks of a communicator. Empty: all did.
  virtual std::string why_not_applied() const { return ""; }
  // Lines in the format of NCCL's log that the library's own log lacks. They give settings that it
  // read ("X set by environment to 1.") and its choices ("AllReduce: 1024 Bytes -> Algo ring").
  virtual std::vector<std::string> words() const { return {}; }
  // The shared libraries that it uses so far, with versions and paths as the loader found them.
  virtual std::vector<model::Library> libraries() const { return {}; }
};

} // namespace ncclprobe::backend
