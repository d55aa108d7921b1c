// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/synthetic/synthetic_backend.h"

#include "backend/synthetic/cost_model.h"
#include "backend/synthetic/peer_clocks.h"
#include "backend/task_tracer.h"
#include "model/in_process.h"

#include <algorithm>
#include <cstdlib>

namespace ncclprobe::backend {

namespace {

using Failure = SyntheticSettings::Failure;

// State that all objects of one backend share.
struct World {
  SyntheticSettings settings;
  Options options;
  std::int64_t now_ns = 0;
  int group_depth = 0;
  TaskTracer* tracer = nullptr;
  struct Message { // one side of a transfer
    PeerClocks* peer_clocks;
    int from, to;
    std::uint64_t number;
    bool sends;
  };
  struct Transfers { // sends and receives of a group on one stream
    std::int64_t longest_ns = 0;
    std::vector<Message> messages; // whose other side has a clock that must agree
  };
  std::map<class SyntheticStream*, Transfers> group;
  struct Traffic {
    BusySpans communication, host_copies;
  };
  std::map<int, Traffic> traffic;                            // by device: work that may still run
  std::map<int, std::shared_ptr<std::uint64_t>> memory_used; // by device, bytes
};

struct SyntheticEvent : Event {
  std::int64_t at_ns = 0;
};

class SyntheticBuffer : public Buffer {
public:
  // `used`: memory use of the device that holds it; null: it uses none.
  SyntheticBuffer(std::uint64_t bytes, int device, bool on_host,
                  std::shared_ptr<std::uint64_t> used)
      : bytes_(bytes), device_(device), on_host_(on_host), used_(std::move(used)) {
    if (used_)
      *used_ += bytes_;
  }
  ~SyntheticBuffer() override {
    if (used_)
      *used_ -= bytes_;
  }
  SyntheticBuffer(const SyntheticBuffer&) = delete;
  SyntheticBuffer& operator=(const SyntheticBuffer&) = delete;
  int device() const { return device_; }
  bool on_host() const { return on_host_; }
  std::uint64_t size_bytes() const override { return bytes_; }
  void poison_bytes(std::uint64_t, std::uint64_t) override {}
  Mismatch compare_poison(std::uint64_t, std::uint64_t) override { refuse(); }
  void fill(std::uint64_t, model::DataType, const model::Pattern&, int, std::uint64_t) override {}
  Mismatch compare(std::uint64_t, model::DataType, const model::Pattern&,
                   const model::Expectation&) override {
    refuse();
  }
  void read(std::uint64_t, std::span<std::byte>) override { refuse(); }
  void write(std::uint64_t, std::span<const std::byte>) override {}
  std::string share() override { return std::to_string(device_); }

private:
  [[noreturn]] static void refuse() {
    raise(Errc::unsupported, "the synthetic backend holds no data");
  }
  std::uint64_t bytes_;
  int device_;
  bool on_host_;
  std::shared_ptr<std::uint64_t> used_;
};

class SyntheticStream : public Stream {
public:
  SyntheticStream(World& world, int device, int priority)
      : world_(world), device_(device),
        compute_calls_((static_cast<std::uint64_t>(device) + 1) << 40),
        traced_as_(world.tracer ? world.tracer->add_stream(device, "", priority) : 0) {}
  ~SyntheticStream() override { world_.group.erase(this); }

  void add(std::int64_t cost_ns, std::string_view name, std::uint8_t flags = 0) {
    std::int64_t start_ns = next_start_ns();
    busy_until_ns_ = start_ns + cost_ns;
    if (world_.tracer == nullptr)
      return;
    world_.tracer->count_launch();
    world_.tracer->add(traced_as_, name, world_.tracer->operation(), start_ns, busy_until_ns_,
                       flags);
  }

  void add_communication(std::int64_t cost_ns, std::string_view name) {
    World::Traffic& traffic = world_.traffic[device_];
    add_traffic(cost_ns, name, trace::k_communication, traffic.communication, traffic.host_copies);
  }

  void record(Event& event) override {
    static_cast<SyntheticEvent&>(event).at_ns = next_start_ns();
  }
  void wait(Event& event) override {
    busy_until_ns_ = std::max(busy_until_ns_, static_cast<SyntheticEvent&>(event).at_ns);
  }
  void spin(std::uint64_t duration_ns) override {
    add(static_cast<std::int64_t>(duration_ns), "spin");
  }
  void prepare(const CopyCall&) override {}
  void copy(const CopyCall& call) override {
    SyntheticRoad taken = road(call.from, call.to, call.means);
    std::int64_t cost_ns = synthetic_copy_ns(world_.settings, call.bytes, taken);
    World::Traffic& traffic = world_.traffic[device_];
    if (taken == SyntheticRoad::host)
      add_traffic(cost_ns, "copy", 0, traffic.host_copies, traffic.communication);
    else
      add(cost_ns, "copy");
  }
  void prepare(const ChaseCall&) override {}
  void chase(const ChaseCall& call) override {
    add(synthetic_chase_ns(world_.settings, call.hops,
                           road(call.through, call.result, model::CopyMeans::kernel)),
        "chase");
  }
  void prepare(const GemmCall&) override {}
  void multiply(const GemmCall& call) override { compute(synthetic_gemm_ns(call), "gemm"); }
  void convert(const ConvertCall& call) override {
    compute(
        synthetic_memory_ns(call.count * (size_bytes(call.from_type) + size_bytes(call.into_type))),
        "convert");
  }
  // Reads gradients, weights and moments; writes the last two.
  void optimize(const OptimizerCall& call) override {
    compute(synthetic_memory_ns(call.count * (3 * size_bytes(call.type) + 4 * sizeof(float))),
            "optimizer");
  }
  void mark(std::string_view) override {}

  // When the next enqueued work begins.
  std::int64_t next_start_ns() const { return std::max(busy_until_ns_, world_.now_ns); }

  // Polling waits: the clock advances to the end of the stream's work.
  bool idle() override {
    if (world_.settings.failure == Failure::hang)
      return false;
    world_.now_ns = std::max(world_.now_ns, busy_until_ns_);
    return true;
  }

private:
  static SyntheticRoad road(const Place& from, const Place& to, model::CopyMeans means) {
    const auto& source = static_cast<const SyntheticBuffer&>(from.buffer);
    const auto& target = static_cast<const SyntheticBuffer&>(to.buffer);
    if (source.on_host() || target.on_host() || means == model::CopyMeans::through_host)
      return SyntheticRoad::host;
    return source.device() == target.device() ? SyntheticRoad::local : SyntheticRoad::link;
  }

  // A kind of traffic; the two kinds slow each other down.
  void add_traffic(std::int64_t cost_ns, std::string_view name, std::uint8_t flags, BusySpans& own,
                   BusySpans& others) {
    for (BusySpans* spans : {&own, &others})
      std::erase_if(*spans, [&](const auto& span) { return span.second <= world_.now_ns; });
    std::ranges::sort(others);
    std::int64_t start_ns = next_start_ns();
    add(synthetic_slowed_ns(world_.settings, start_ns, cost_ns, others), name, flags);
    if (world_.settings.copy_ppm > 0)
      own.emplace_back(start_ns, busy_until_ns_);
  }

  void compute(std::int64_t cost_ns, std::string_view name) {
    add(with_noise(cost_ns, world_.settings, world_.options, compute_calls_++), name);
  }

  World& world_;
  int device_;
  std::uint64_t compute_calls_; // separate from the communicators' and other devices' numbers
  std::uint16_t traced_as_;
  std::int64_t busy_until_ns_ = 0;
};

// What a group, or a single call, puts on its streams. All sends are announced before the first
// receive waits, as in NCCL.
void end_transfers(World& world) {
  for (const auto& [stream, transfers] : world.group)
    for (const World::Message& one : transfers.messages)
      if (one.sends)
        one.peer_clocks->tell_begin(one.from, one.to, one.number, stream->next_start_ns());
  for (const auto& [stream, transfers] : world.group) {
    std::int64_t begin_ns = stream->next_start_ns();
    for (const World::Message& one : transfers.messages)
      if (!one.sends)
        begin_ns = std::max(begin_ns, one.peer_clocks->sent_ns(one.from, one.to, one.number));
    stream->add_communication(transfers.longest_ns + begin_ns - stream->next_start_ns(),
                              "send_recv");
  }
  world.group.clear();
}

class SyntheticCommunicator : public Communicator {
public:
  SyntheticCommunicator(World& world, int rank, int size, std::shared_ptr<PeerClocks> peer_clocks)
      : world_(world), rank_(rank), size_(size), peer_clocks_(std::move(peer_clocks)) {}
  double largest(double value) {
    return peer_clocks_ ? peer_clocks_->all_reduce_max(value) : value;
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void enqueue(const CollectiveCall& call, Stream& stream) override {
    fail_if_asked();
    if (!is_one_call(call.collective))
      raise(Errc::invalid_argument, "{} is written as sends and receives",
            to_string(call.collective));
    if (call.collective == model::Collective::all_to_all &&
        &call.send.buffer == &call.receive.buffer && call.send.offset == call.receive.offset)
      raise(Errc::unsupported, "all_to_all cannot work in place");
    std::int64_t cost =
        synthetic_cost_ns(world_.settings, call.collective, call.count, call.type, size_);
    auto& on = static_cast<SyntheticStream&>(stream);
    cost = with_noise(cost, world_.settings, world_.options, calls_++);
    if (peer_clocks_) // all end after the last one has begun
      cost += peer_clocks_->last_begin_ns(on.next_start_ns()) - on.next_start_ns();
    on.add_communication(cost, to_string(call.collective));
  }
  void send(Place, std::uint64_t count, model::DataType type, int peer, Stream& stream) override {
    transfer(count, type, stream, 2 * transfers_sent_++,
             {peer_clocks_.get(), rank_, peer, sent_[peer]++, true});
  }
  void receive(Place, std::uint64_t count, model::DataType type, int peer,
               Stream& stream) override {
    transfer(count, type, stream, 2 * transfers_received_++ + 1,
             {peer_clocks_.get(), peer, rank_, received_[peer]++, false});
  }
  void check() override {}

private:
  // Sends and receives of a group overlap: the group takes as long as its longest transfer.
  void transfer(std::uint64_t count, model::DataType type, Stream& stream, std::uint64_t call,
                const World::Message& message) {
    fail_if_asked();
    std::int64_t cost =
        synthetic_cost_ns(world_.settings, model::Collective::send_recv, count, type, size_);
    cost = with_noise(cost, world_.settings, world_.options, call);
    World::Transfers& transfers = world_.group[&static_cast<SyntheticStream&>(stream)];
    transfers.longest_ns = std::max(transfers.longest_ns, cost);
    if (message.peer_clocks != nullptr)
      transfers.messages.push_back(message);
    if (world_.group_depth == 0)
      end_transfers(world_);
  }

  void fail_if_asked() const {
    if (world_.settings.failure == Failure::error)
      raise(Errc::failed, "planted error (NCCLPROBE_SYNTHETIC_FAIL=error)");
    if (world_.settings.failure == Failure::unsupported)
      raise(Errc::unsupported, "planted refusal (NCCLPROBE_SYNTHETIC_FAIL=unsupported)");
    if (world_.settings.failure == Failure::crash)
      std::abort();
  }

  World& world_;
  int rank_;
  int size_;
  std::shared_ptr<PeerClocks> peer_clocks_; // null: no trace, or ranks on several hosts
  std::uint64_t calls_ = 0;
  std::uint64_t transfers_sent_ = 0;
  std::uint64_t transfers_received_ = 0;
  std::map<int, std::uint64_t> sent_, received_; // by peer
};

class SyntheticDevice : public Device {
public:
  SyntheticDevice(World& world, int index) : world_(world), index_(index) {
    auto& used = world_.memory_used[index];
    if (!used)
      used = std::make_shared<std::uint64_t>(k_synthetic_context_bytes);
  }
  int index() const { return index_; }
  std::unique_ptr<Buffer> allocate(std::uint64_t bytes) override {
    return std::make_unique<SyntheticBuffer>(bytes, index_, false, world_.memory_used.at(index_));
  }
  std::unique_ptr<Buffer> allocate_on_host(std::uint64_t bytes, model::Memory) override {
    return std::make_unique<SyntheticBuffer>(bytes, index_, true, nullptr);
  }
  std::unique_ptr<Buffer> allocate_shared(std::uint64_t bytes) override { return allocate(bytes); }
  std::unique_ptr<Buffer> map_shared(const std::string& handle, std::uint64_t bytes) override {
    return std::make_unique<SyntheticBuffer>(bytes, std::stoi(handle), false, nullptr);
  }
  std::unique_ptr<Stream> open_stream(int priority) override {
    return std::make_unique<SyntheticStream>(world_, index_, priority);
  }
  std::unique_ptr<Event> create_event(EventUse) override {
    return std::make_unique<SyntheticEvent>();
  }
  std::int64_t elapsed_ns(Event& begin, Event& end) override {
    return static_cast<SyntheticEvent&>(end).at_ns - static_cast<SyntheticEvent&>(begin).at_ns;
  }

private:
  World& world_;
  int index_;
};

class SyntheticBackend : public Backend {
public:
  explicit SyntheticBackend(const Options& options)
      : world_{SyntheticSettings::parse(options.environment), options, 0, 0, nullptr, {}, {}, {}} {}

  std::string_view name() const override { return "synthetic"; }
  bool moves_data() const override { return false; }
  std::unique_ptr<Device> open_device(int index) override {
    return std::make_unique<SyntheticDevice>(world_, index);
  }

  std::vector<std::unique_ptr<Communicator>> connect(const std::string& key,
                                                     const std::vector<int>& ranks,
                                                     std::span<const Member> local,
                                                     Rendezvous& rendezvous) override {
    if (world_.settings.failure == Failure::start)
      raise(Errc::failed, "planted error (NCCLPROBE_SYNTHETIC_FAIL=start)");
    std::shared_ptr<PeerClocks> peer_clocks;
    if (world_.tracer != nullptr && !local.empty())
      peer_clocks = PeerClocks::connect(key, ranks, local, rendezvous);
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (const Member& member : local) {
      communicators.push_back(std::make_unique<SyntheticCommunicator>(
          world_, member.rank, static_cast<int>(ranks.size()), peer_clocks));
      const int index = static_cast<SyntheticDevice*>(member.device)->index();
      *world_.memory_used.at(index) += k_synthetic_communicator_bytes;
    }
    return communicators;
  }

  void apply(const std::vector<model::Setting>& settings) override {
    world_.settings = SyntheticSettings::parse(
        model::environment_with(world_.options.environment, name(), settings));
  }
  void group_begin() override { ++world_.group_depth; }
  void group_end() override {
    if (world_.group_depth == 0)
      raise(Errc::invalid_argument, "group_end without group_begin");
    if (--world_.group_depth > 0)
      return;
    end_transfers(world_);
  }

  double max_over_ranks(std::span<Communicator* const> local, double value) override {
    if (local.empty())
      return value;
    auto& one = *static_cast<SyntheticCommunicator*>(local.front());
    world_.now_ns = static_cast<std::int64_t>(one.largest(static_cast<double>(world_.now_ns)));
    return one.largest(value);
  }
  std::int64_t now_ns() override { return world_.now_ns; }
  std::optional<std::uint64_t> memory_used(int index) override {
    auto found = world_.memory_used.find(index);
    return found == world_.memory_used.end() ? 0 : *found->second;
  }
  std::unique_ptr<Tracer> start_trace(const TraceRequest& request) override {
    auto tracer = std::make_unique<TaskTracer>(request);
    world_.tracer = tracer.get();
    return tracer;
  }

private:
  World world_;
};

} // namespace

std::unique_ptr<Backend> make_synthetic_backend(const Options& options) {
  return std::make_unique<SyntheticBackend>(options);
}

} // namespace ncclprobe::backend
