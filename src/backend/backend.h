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

// The seam between the schedule runner and what moves the data. Lives in a worker, so errors are
// thrown (base::Exception): Errc::unsupported makes a cell `skipped`, anything else `failed`.
// One thread drives a backend; enqueueing calls return at once, work runs in stream order.
namespace ncclprobe::backend {

class Event {
public:
  virtual ~Event() = default;
  // Whether its stream has come to the latest record(). Never where nobody needs to ask, because
  // enqueueing takes no time worth mentioning.
  virtual bool reached() { return false; }
};

// What an event is for. Only those for timing may be given to Device::elapsed_ns().
enum class EventUse { order, time };

// Keeps a buffer registered with a communicator; dies before both.
class Registration {
public:
  virtual ~Registration() = default;
};

// Work that was captured once and is enqueued again as a whole, in order with whatever else its
// streams do. Dies before its communicators and buffers.
class Graph {
public:
  virtual ~Graph() = default;
  virtual void launch() = 0;
};

struct Mismatch {
  std::uint64_t elements = 0; // looked at
  std::uint64_t wrong = 0;
  std::uint64_t first = 0; // index of the first wrong element, if any
  std::uint64_t first_bits = 0;
};

// Memory of one device. The calls here are synchronous; no stream may be using the buffer.
class Buffer {
public:
  virtual ~Buffer() = default;
  virtual std::uint64_t size_bytes() const = 0;
  virtual void poison_bytes(std::uint64_t offset, std::uint64_t bytes) = 0; // to k_poison_byte
  void poison() { poison_bytes(0, size_bytes()); }
  // Whether they still are. The elements of the answer are bytes.
  virtual Mismatch compare_poison(std::uint64_t offset, std::uint64_t bytes) = 0;
  // Elements 0 .. count-1 from offset: pattern.number(rank, i) in the type.
  virtual void fill(std::uint64_t offset, model::DataType, const model::Pattern&, int rank,
                    std::uint64_t count) = 0;
  virtual Mismatch compare(std::uint64_t offset, model::DataType, const model::Pattern&,
                           const model::Expectation&) = 0;
  virtual void read(std::uint64_t offset, std::span<std::byte> into) = 0;
  virtual void write(std::uint64_t offset, std::span<const std::byte> from) = 0;
  // What another process of this host needs to map it (Device::map_shared); stays the same as long
  // as the buffer lives.
  virtual std::string share() {
    base::raise(base::Errc::unsupported, "this memory cannot be shared with other processes");
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
  // Between any two buffers that the process has. The stream's device drives it.
  virtual void copy(const CopyCall&) = 0;
  // Throws Errc::unsupported, with the reason, if it cannot. Asked before a cell starts, and does
  // what has to be done once between two devices.
  virtual void prepare(const CopyCall& call) {
    if (call.means != model::CopyMeans::copy_engine)
      base::raise(base::Errc::unsupported, "this backend has no copies of kind {}",
                  to_string(call.means));
  }
  virtual void chase(const ChaseCall& call) { prepare(call); }
  virtual void prepare(const ChaseCall&) {
    base::raise(base::Errc::unsupported, "this backend cannot follow pointers through memory");
  }
  // Compute as training does it (model::GemmOp and its neighbours). prepare() is asked before a
  // cell starts, as above, and chooses how a product is computed.
  virtual void multiply(const GemmCall& call) { prepare(call); }
  virtual void prepare(const GemmCall&) {
    base::raise(base::Errc::unsupported, "this backend multiplies no matrices");
  }
  virtual void convert(const ConvertCall&) {
    base::raise(base::Errc::unsupported, "this backend converts no elements");
  }
  virtual void optimize(const OptimizerCall&) {
    base::raise(base::Errc::unsupported, "this backend has no optimizer");
  }
  virtual void mark(std::string_view label) = 0;
  // Everything enqueued so far is done. Throws what went wrong in the stream. May wait a moment for
  // it (at most a millisecond), so that a caller who polls does not take the CPU from the work
  // itself.
  virtual bool idle() = 0;
};

struct CollectiveCall {
  model::Collective collective; // is_one_call()
  Place send;
  Place receive;
  std::uint64_t count; // as NCCL's call of that name counts
  model::DataType type;
  model::ReduceOp op;
  int root;
};

class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Throws Errc::unsupported, with the reason, if it cannot do this. Asked before a cell starts, so
  // that all ranks skip it together. For sends and receives send_recv stands.
  virtual void require_support(model::Collective, model::DataType, model::ReduceOp) {}
  virtual void enqueue(const CollectiveCall&, Stream&) = 0;
  virtual void send(Place, std::uint64_t count, model::DataType, int peer, Stream&) = 0;
  virtual void receive(Place, std::uint64_t count, model::DataType, int peer, Stream&) = 0;
  virtual void check() = 0; // throws an asynchronous error, if there is one
  // Of Device::allocate_registrable().
  virtual std::unique_ptr<Registration> register_buffer(Buffer&) {
    base::raise(base::Errc::unsupported, "this backend registers no memory");
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
  // Between the moments when two streams of this device came to the events; negative if `begin` was
  // the later one. Both have been recorded, and their streams are idle.
  virtual std::int64_t elapsed_ns(Event& begin, Event& end) = 0;
  // Memory that communicators can register: made by the library under test.
  virtual std::unique_ptr<Buffer> allocate_registrable(std::uint64_t) {
    base::raise(base::Errc::unsupported,
                "this backend has no memory that is registered with communicators");
  }
  // Memory of the host, close to this device; `memory` is pinned_host or pageable_host.
  virtual std::unique_ptr<Buffer> allocate_on_host(std::uint64_t, model::Memory) {
    base::raise(base::Errc::unsupported, "this backend's devices have no memory beside the host's");
  }
  // Memory that other processes may map, if allocate()'s is not good enough for that.
  virtual std::unique_ptr<Buffer> allocate_shared(std::uint64_t) {
    base::raise(base::Errc::unsupported, "this backend shares no memory between processes");
  }
  // A buffer of another process of this host, as this device reaches it. `handle` is of share().
  // The other process keeps it for as long.
  virtual std::unique_ptr<Buffer> map_shared(const std::string& /*handle*/,
                                             std::uint64_t /*bytes*/) {
    base::raise(base::Errc::unsupported, "this backend shares no memory between processes");
  }
  // Clocks, temperature, power now; rank and times are the caller's to fill in. Absent where there
  // is nothing to read. This and the next are the calls that any thread may make, at any time.
  virtual std::optional<model::Condition> read_condition() { return std::nullopt; }
  // Adds what goes over the device's links. For any thread too, but takes some 40 ms, so only long
  // cells are asked.
  virtual void read_traffic(model::Condition&) {}
  // Adds who else is on the device, and how many errors it has counted.
  virtual void read_company(model::Condition&) {}
};

// How ranks tell each other what they need before they can communicate. Relayed by the supervisors.
class Rendezvous {
public:
  virtual ~Rendezvous() = default;
  // All-gather: each member contributes bytes once under `key`. `own` holds the contributions of
  // this process's members by global rank; returns all, in the order of `members`. Blocks.
  virtual std::vector<std::string> exchange(const std::string& key, const std::vector<int>& members,
                                            const std::map<int, std::string>& own) = 0;
};

struct Member {
  int global_rank;
  int rank; // in the communicator
  Device* device;
};

// A member of a communicator that is being split. `member.rank` is its rank in the new one; -1: it
// stays out, but has to take part in the call.
struct SplitMember {
  Communicator* parent;
  Member member;
};

// What a backend is made from; everything is data, nobody below main reads the environment.
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
  // One communicator for each of this process's members, in that order; called by all processes
  // that have members. `size` ranks in all, `ranks` their global ranks. `key` is unique in the
  // trial.
  virtual std::vector<std::unique_ptr<Communicator>> connect(const std::string& key,
                                                             const std::vector<int>& ranks,
                                                             std::span<const Member> local,
                                                             Rendezvous&) = 0;
  // Captures what `enqueue` puts on the streams, without running it. `streams` are all that it
  // uses, one list for each device; the lists are not empty.
  virtual std::unique_ptr<Graph> capture(std::span<const std::vector<Stream*>>,
                                         const std::function<void()>& /*enqueue*/) {
    base::raise(base::Errc::unsupported, "the {} backend cannot capture a schedule as a graph",
                name());
  }
  // A communicator of some members of another, `ranks` their global ranks; called by all processes
  // that have members of the parent, all of which are in `local`. Returns one for each of this
  // process's members that do not stay out. A backend without a call of its own for it connects.
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
  virtual void group_begin() = 0;
  virtual void group_end() = 0;
  // What the library itself expects the collective to take that `enqueue` asks for, of all local
  // ranks, in us; it is not launched. Nothing where it cannot tell.
  virtual std::optional<double> estimate_us(const std::function<void()>& /*enqueue*/) {
    return std::nullopt;
  }
  // What is enqueued after this begins at about the same time on all ranks of the communicator,
  // whenever their hosts call. One stream for each local member, null for one that has nothing to
  // align but is needed. A backend whose ranks leave max_over_ranks() together has nothing to do.
  virtual void align(std::span<Communicator* const>, std::span<Stream* const>) {}
  // Largest `value` over all ranks of the communicator whose local members are given; nobody
  // returns before all have called. Serves as the barrier and to agree on counts.
  virtual double max_over_ranks(std::span<Communicator* const> local, double value) = 0;
  virtual std::int64_t now_ns() = 0; // the clock that samples are taken from
  // What all processes use together of that device's memory, now; makes nothing on it. Nothing
  // where devices do not tell.
  virtual std::optional<std::uint64_t> memory_used(int /*index*/) { return std::nullopt; }
  // Called once, before any device is opened.
  virtual std::unique_ptr<Tracer> start_trace(const TraceRequest&) {
    base::raise(base::Errc::unsupported, "the {} backend cannot be traced", name());
  }
  // Lines in the manner of NCCL's log: which settings it read ("X set by environment to 1.") and
  // what it chose ("AllReduce: 1024 Bytes -> Algo ring"); or what the library's own log lacks.
  virtual std::vector<std::string> words() const { return {}; }
  // The shared libraries that it works with by now, with versions and paths as the loader has them.
  virtual std::vector<model::Library> libraries() const { return {}; }
};

} // namespace ncclprobe::backend
