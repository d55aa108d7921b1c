// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "worker/faulty_backend.h"

#include "host/host_backend.h"
#include "host/memory.h"
#include "host/stream.h"

#include <algorithm>
#include <functional>

namespace ncclprobe::support {
namespace {

using backend::Place;
using Kind = PlantedFault::Kind;

// Shared by the backend and its communicators.
struct Plan {
  const PlantedFault& fault;
  int meetings = 0;
  int launches = 0;                              // since the last meeting
  std::vector<std::function<void()>> afterwards; // when the group's work is enqueued

  bool active(Kind kind, int rank) const {
    bool anybody = kind == Kind::nothing_done;
    return fault.kind == kind && (anybody || fault.rank == rank) && launches == fault.launch &&
           meetings >= fault.first_meeting;
  }
};

class FaultyCommunicator : public backend::Communicator {
public:
  FaultyCommunicator(std::unique_ptr<backend::Communicator> inner, backend::Device& device,
                     Plan& plan)
      : inner_(std::move(inner)), device_(device), plan_(plan) {}
  backend::Communicator& inner() { return *inner_; }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  void check() override { inner_->check(); }

  void enqueue(const backend::CollectiveCall& call, backend::Stream& stream) override {
    if (plan_.active(Kind::nothing_done, rank()))
      return;
    auto blocks = model::block_counts(call.collective, size());
    std::uint64_t block = call.count * model::size_bytes(call.type);
    std::uint64_t sent = block * static_cast<std::uint64_t>(blocks.send);
    std::uint64_t received = block * static_cast<std::uint64_t>(blocks.receive);
    inner_->enqueue({call.collective, input(call.send, sent), output(call.receive, received),
                     call.count, call.type, call.op, call.root},
                    stream);
    damage(call.receive, received, call.type, stream);
  }
  void send(Place from, std::uint64_t count, model::DataType type, int peer,
            backend::Stream& stream) override {
    if (!plan_.active(Kind::nothing_done, rank()))
      inner_->send(input(from, count * model::size_bytes(type)), count, type, peer, stream);
  }
  void receive(Place into, std::uint64_t count, model::DataType type, int peer,
               backend::Stream& stream) override {
    if (plan_.active(Kind::nothing_done, rank()))
      return;
    std::uint64_t bytes = count * model::size_bytes(type);
    inner_->receive(output(into, bytes), count, type, peer, stream);
    damage(into, bytes, type, stream);
  }

private:
  Place elsewhere(std::uint64_t bytes) {
    scratch_.push_back(device_.allocate(bytes));
    return {*scratch_.back(), 0};
  }
  Place input(Place place, std::uint64_t bytes) {
    if (!plan_.active(Kind::no_contribution, rank()))
      return place;
    Place zeros = elsewhere(bytes);
    zeros.buffer.write(0, std::vector<std::byte>(bytes));
    return zeros;
  }
  Place output(Place place, std::uint64_t bytes) {
    return plan_.active(Kind::no_output, rank()) ? elsewhere(bytes) : place;
  }

  void damage(Place place, std::uint64_t bytes, model::DataType type, backend::Stream& stream) {
    auto& on = static_cast<host::HostStream&>(stream);
    std::shared_ptr<std::byte> data =
        static_cast<host::HostBuffer&>(place.buffer).hold(place.offset, bytes);
    std::uint64_t element = model::size_bytes(type);
    std::uint64_t middle = bytes / element / 2 * element;
    std::function<void()> work;
    if (plan_.active(Kind::swapped_chunks, rank()))
      work = [data, middle] {
        std::swap_ranges(data.get(), data.get() + middle, data.get() + middle);
      };
    if (plan_.active(Kind::one_element, rank()))
      work = [data, middle, element] {
        // The highest bit but two of a little-endian element: far off in every type.
        *(data.get() + middle + element - 1) ^= std::byte{0x20};
      };
    if (work)
      plan_.afterwards.push_back([&on, work] { on.push(work, nullptr, "held back"); });
  }

  std::unique_ptr<backend::Communicator> inner_;
  backend::Device& device_;
  Plan& plan_;
  std::vector<std::unique_ptr<backend::Buffer>> scratch_;
};

class FaultyBackend : public backend::Backend {
public:
  FaultyBackend(const backend::Options& options, const PlantedFault& fault)
      : inner_(host::make_backend(options)), plan_{fault} {}

  std::string_view name() const override { return "faulty"; }
  bool moves_data() const override { return true; }
  std::unique_ptr<backend::Device> open_device(int index) override {
    return inner_->open_device(index);
  }
  std::vector<std::unique_ptr<backend::Communicator>>
  connect(const std::string& key, const std::vector<int>& ranks,
          std::span<const backend::Member> local, backend::Rendezvous& rendezvous) override {
    auto members = inner_->connect(key, ranks, local, rendezvous);
    for (std::size_t i = 0; i < members.size(); ++i)
      members[i] =
          std::make_unique<FaultyCommunicator>(std::move(members[i]), *local[i].device, plan_);
    return members;
  }
  void group_begin() override {
    ++plan_.launches;
    inner_->group_begin();
  }
  void group_end() override {
    inner_->group_end();
    for (auto& work : std::exchange(plan_.afterwards, {}))
      work();
  }
  double max_over_ranks(std::span<backend::Communicator* const> local, double value) override {
    ++plan_.meetings;
    plan_.launches = 0;
    std::vector<backend::Communicator*> members;
    for (backend::Communicator* one : local)
      members.push_back(&static_cast<FaultyCommunicator*>(one)->inner());
    return inner_->max_over_ranks(members, value);
  }
  std::int64_t now_ns() override { return inner_->now_ns(); }

private:
  std::unique_ptr<backend::Backend> inner_;
  Plan plan_;
};

} // namespace

std::unique_ptr<backend::Backend> make_faulty_backend(const backend::Options& options,
                                                      const PlantedFault& fault) {
  return std::make_unique<FaultyBackend>(options, fault);
}

} // namespace ncclprobe::support
