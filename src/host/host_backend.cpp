// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/host_backend.h"

#include "base/clock.h"
#include "base/resource_limits.h"
#include "host/connection.h"
#include "host/memory.h"
#include "host/network_address.h"
#include "host/stream.h"
#include "host/transfers.h"
#include "model/in_process.h"

#include <gloo/allreduce.h>
#include <gloo/config.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <dlfcn.h>
#include <functional>
#include <future>
#include <set>

namespace ncclprobe::host {

namespace {

using model::Collective;

// Runs all functions at once, one of them in this thread, because ranks of one process must call
// together. Throws the first exception after all have ended.
void run_together(const std::vector<std::function<void()>>& works) {
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < works.size(); ++i)
    others.push_back(std::async(std::launch::async, works[i]));
  std::exception_ptr problem;
  auto keep_first = [&](auto run) {
    try {
      run();
    } catch (...) {
      if (!problem)
        problem = std::current_exception();
    }
  };
  if (!works.empty())
    keep_first(works.front());
  for (auto& other : others)
    keep_first([&] { other.get(); });
  if (problem)
    std::rethrow_exception(problem);
}

// The algorithms that all_reduces of each size used.
using AllReduceChoices = std::set<std::pair<std::uint64_t, AllReduceAlgorithm>>;

class HostCommunicator : public backend::Communicator {
public:
  HostCommunicator(std::shared_ptr<Connection> connection, const HostSettings& settings,
                   TransferGroup& group, AllReduceChoices& choices)
      : connection_(std::move(connection)), settings_(settings), group_(group), choices_(choices) {}

  int rank() const override { return connection_->rank(); }
  int size() const override { return connection_->size(); }
  Connection& connection() { return *connection_; }

  void enqueue(const backend::CollectiveCall& call, backend::Stream& stream) override {
    if (!is_one_call(call.collective))
      raise(Errc::invalid_argument, "{} is written as sends and receives",
            to_string(call.collective));
    if (has_root(call.collective) && (call.root < 0 || call.root >= size()))
      raise(Errc::invalid_argument, "no rank {} in a communicator of {}", call.root, size());
    auto [send, receive] = memory_of(call);
    if (call.collective == Collective::all_to_all && send == receive)
      raise(Errc::unsupported, "all_to_all cannot work in place");
    auto& on = static_cast<HostStream&>(stream);
    std::size_t lane = connection_->lane_of(on.id());
    if (call.count == 0)
      return;
    if (call.collective == Collective::all_reduce && size() > 1) {
      std::uint64_t bytes = call.count * size_bytes(call.type);
      choices_.insert({bytes, settings_.all_reduce_algorithm(size(), bytes)});
    }
    HostCollective collective{call.collective, send.get(), receive.get(), call.count,
                              call.type,       call.op,    call.root};
    on.push([connection = connection_, settings = settings_, lane, collective, send = send,
             receive = receive] { connection->run(lane, collective, settings); },
            connection_, to_string(call.collective));
  }

  void send(backend::Place from, std::uint64_t count, model::DataType type, int peer,
            backend::Stream& on) override {
    transfer(Direction::send, from, count, type, peer, on);
  }
  void receive(backend::Place into, std::uint64_t count, model::DataType type, int peer,
               backend::Stream& on) override {
    transfer(Direction::receive, into, count, type, peer, on);
  }
  void check() override { connection_->throw_if_failed(); }

private:
  static std::shared_ptr<std::byte> memory_at(const backend::Place& place, std::uint64_t count,
                                              model::DataType type) {
    if (place.offset % size_bytes(type) != 0)
      raise(Errc::invalid_argument, "offset {} is not a multiple of the size of {}", place.offset,
            to_string(type));
    return static_cast<HostBuffer&>(place.buffer).hold(place.offset, count * size_bytes(type));
  }

  // Send and receive side; a side that this rank does not use may have any size.
  std::pair<std::shared_ptr<std::byte>, std::shared_ptr<std::byte>>
  memory_of(const backend::CollectiveCall& call) {
    bool root = rank() == call.root;
    bool sends = root || (call.collective != Collective::broadcast &&
                          call.collective != Collective::scatter);
    bool receives =
        root || (call.collective != Collective::reduce && call.collective != Collective::gather);
    auto blocks = model::block_counts(call.collective, size());
    auto memory = [&](const backend::Place& place, bool used, int block_count) {
      return used
                 ? memory_at(place, call.count * static_cast<std::uint64_t>(block_count), call.type)
                 : nullptr;
    };
    return {memory(call.send, sends, blocks.send), memory(call.receive, receives, blocks.receive)};
  }

  void transfer(Direction direction, backend::Place place, std::uint64_t count,
                model::DataType type, int peer, backend::Stream& on) {
    group_.add({connection_, direction, memory_at(place, count, type), count * size_bytes(type),
                peer, 0, &static_cast<HostStream&>(on)});
  }

  std::shared_ptr<Connection> connection_;
  const HostSettings& settings_;
  TransferGroup& group_;
  AllReduceChoices& choices_;
};

class HostDevice : public backend::Device {
public:
  HostDevice(int index, std::uint64_t& streams, backend::TaskTracer* tracer)
      : index_(index), streams_(streams), tracer_(tracer) {}
  std::unique_ptr<backend::Buffer> allocate(std::uint64_t bytes) override {
    return std::make_unique<HostBuffer>(bytes);
  }
  std::unique_ptr<backend::Buffer> allocate_on_host(std::uint64_t bytes,
                                                    model::Memory memory) override {
    if (memory == model::Memory::pinned_host)
      raise(Errc::unsupported, "not applicable: CPU ranks have no device that reads memory, "
                               "so pinned memory has no purpose");
    return std::make_unique<HostBuffer>(bytes);
  }
  std::unique_ptr<backend::Stream> open_stream(int priority) override {
    std::uint16_t traced_as = tracer_ ? tracer_->add_stream(index_, "", priority) : 0;
    return std::make_unique<HostStream>(streams_++, tracer_, traced_as);
  }
  std::unique_ptr<backend::Event> create_event(backend::EventUse) override {
    return std::make_unique<HostEvent>();
  }
  std::int64_t elapsed_ns(backend::Event& begin, backend::Event& end) override {
    return static_cast<HostEvent&>(end).reached_ns() - static_cast<HostEvent&>(begin).reached_ns();
  }

private:
  int index_;
  std::uint64_t& streams_;
  backend::TaskTracer* tracer_;
};

model::Library gloo_library() {
  model::Library library;
  library.name = "gloo";
  library.version =
      fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
  Dl_info info{};
  void (*function)(const gloo::AllreduceOptions&) = &gloo::allreduce;
  if (dladdr(reinterpret_cast<void*>(function), &info) != 0 && info.dli_fname != nullptr)
    library.path = info.dli_fname;
  return library;
}

class HostBackend : public backend::Backend {
public:
  explicit HostBackend(const backend::Options& options)
      : options_(options), settings_(HostSettings::parse(options.environment)) {}

  std::string_view name() const override { return "host"; }
  bool moves_data() const override { return true; }
  std::unique_ptr<backend::Device> open_device(int index) override {
    return std::make_unique<HostDevice>(index, streams_, tracer_);
  }

  std::vector<std::unique_ptr<backend::Communicator>>
  connect(const std::string& key, const std::vector<int>& ranks,
          std::span<const backend::Member> local, backend::Rendezvous& rendezvous) override {
    auto size = static_cast<int>(ranks.size());
    std::vector<std::shared_ptr<Connection>> connections;
    for (const backend::Member& member : local)
      connections.push_back(
          std::make_shared<Connection>(key, member.rank, size, network_of(member.global_rank)));
    if (size > 1) {
      std::map<int, std::string> own;
      for (std::size_t i = 0; i < local.size(); ++i)
        own[local[i].global_rank] = connections[i]->open();
      std::vector<std::string> blobs = rendezvous.exchange(key, ranks, own);
      std::vector<std::function<void()>> works;
      for (auto& connection : connections)
        works.push_back([&] { connection->connect(blobs); });
      run_together(works);
    }
    std::vector<std::unique_ptr<backend::Communicator>> communicators;
    for (auto& connection : connections)
      communicators.push_back(
          std::make_unique<HostCommunicator>(connection, settings_, group_, choices_));
    return communicators;
  }

  void apply(const std::vector<model::Setting>& settings) override {
    settings_ =
        HostSettings::parse(model::environment_with(options_.environment, name(), settings));
  }
  void group_begin() override { group_.begin(); }
  void group_end() override { group_.end(); }

  double max_over_ranks(std::span<backend::Communicator* const> local, double value) override {
    double largest = value;
    std::vector<std::function<void()>> works;
    for (std::size_t i = 0; i < local.size(); ++i) {
      Connection& connection = static_cast<HostCommunicator*>(local[i])->connection();
      if (i == 0)
        works.push_back([&largest, &connection, value] { largest = connection.largest(value); });
      else
        works.push_back([&connection, value] { connection.largest(value); });
    }
    run_together(works);
    return largest;
  }

  std::int64_t now_ns() override { return base::monotonic_ns(); }
  std::unique_ptr<backend::Tracer> start_trace(const backend::TraceRequest& request) override {
    auto tracer = std::make_unique<backend::TaskTracer>(request);
    tracer_ = tracer.get();
    return tracer;
  }

  std::vector<model::Library> libraries() const override { return {gloo_library()}; }
  std::vector<std::string> words() const override {
    std::vector<std::string> lines;
    for (const auto& [name, value] : options_.environment)
      if (HostSettings::reads(name))
        lines.push_back(fmt::format("{} set by environment to {}", name, value));
    for (const auto& [bytes, algorithm] : choices_)
      lines.push_back(
          fmt::format("AllReduce: {} Bytes -> Algo {}", bytes, model::to_string(algorithm)));
    return lines;
  }

private:
  // A Gloo thread that listens and moves bytes for one rank.
  std::shared_ptr<gloo::transport::Device> network_of(int global_rank) {
    auto& network = networks_[global_rank];
    if (network)
      return network;
    std::string address = address_of_rank(options_, global_rank);
    gloo::transport::tcp::attr attributes{};
    attributes.hostname = address;
    try {
      network = gloo::transport::tcp::CreateDevice(attributes);
    } catch (const std::exception& error) {
      raise(Errc::unavailable, "gloo cannot use the address {}: {}", address,
            base::words_of(error));
    }
    return network;
  }

  backend::Options options_;
  HostSettings settings_;
  std::map<int, std::shared_ptr<gloo::transport::Device>> networks_;
  TransferGroup group_;
  AllReduceChoices choices_;
  std::uint64_t streams_ = 0;
  backend::TaskTracer* tracer_ = nullptr; // owned elsewhere
};

} // namespace

std::unique_ptr<backend::Backend> make_backend(const backend::Options& options) {
  return std::make_unique<HostBackend>(options);
}

void describe(model::HostInventory& host) {
  host.libraries.push_back(gloo_library());
}

} // namespace ncclprobe::host
