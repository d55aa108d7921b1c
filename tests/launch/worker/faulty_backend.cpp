// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/faulty_backend.h"

#include "launch/worker/element_damage.h"
#include "launch/worker/memory_backend.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace ncclprobe::support {
namespace {

using backend::Place;
using model::DataType;
using Kind = PlantedFault::Kind;
using Bytes = std::vector<std::byte>;

Bytes read(const Place& place, std::uint64_t bytes) {
  Bytes content(bytes);
  place.buffer.read(place.offset, content);
  return content;
}

// Shared by the backend and its communicators.
struct Plan {
  const PlantedFault& fault;
  int barriers = 0;
  int launches = 0;                              // since the last barrier
  std::vector<std::function<void()>> afterwards; // when the group's work is done
  std::map<int, Bytes> inputs;                   // by rank, of the latest launch

  bool active(Kind kind, int rank) const {
    bool anybody = kind == Kind::nothing_done;
    return fault.kind == kind && (anybody || fault.rank == rank) && launches == fault.launch &&
           barriers >= fault.first_barrier;
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
    if (active(Kind::nothing_done))
      return;
    auto blocks = model::block_counts(call.collective, size());
    std::uint64_t block = call.count * model::size_bytes(call.type);
    std::uint64_t sent = block * static_cast<std::uint64_t>(blocks.send);
    std::uint64_t received = block * static_cast<std::uint64_t>(blocks.receive);
    using enum model::Collective;
    bool at_root = rank() == call.root;
    bool sends = at_root || (call.collective != broadcast && call.collective != scatter);
    bool receives = at_root || (call.collective != reduce && call.collective != gather);
    Place send = sends ? input(call.send, sent, call.type, call.op) : call.send;
    Place receive = receives ? output(call.receive, received, call.type) : call.receive;
    if (!receives && active(Kind::stray_output))
      later([at = call.receive] { count_up(at); });
    inner_->enqueue({call.collective, send, receive, call.count, call.type, call.op, call.root},
                    stream);
  }
  void send(Place from, std::uint64_t count, DataType type, int peer,
            backend::Stream& stream) override {
    if (!active(Kind::nothing_done))
      inner_->send(input(from, count * model::size_bytes(type), type, model::ReduceOp::sum), count,
                   type, peer, stream);
  }
  void receive(Place into, std::uint64_t count, DataType type, int peer,
               backend::Stream& stream) override {
    if (!active(Kind::nothing_done))
      inner_->receive(output(into, count * model::size_bytes(type), type), count, type, peer,
                      stream);
  }

private:
  bool active(Kind kind) const { return plan_.active(kind, rank()); }
  void later(std::function<void()> work) { plan_.afterwards.push_back(std::move(work)); }

  // Other than before, also after several launches.
  static void count_up(const Place& byte) {
    Bytes one = read(byte, 1);
    one[0] = static_cast<std::byte>(std::to_integer<int>(one[0]) + 1);
    byte.buffer.write(byte.offset, one);
  }

  Place elsewhere(std::uint64_t bytes) {
    scratch_.push_back(device_.allocate(bytes));
    return {*scratch_.back(), 0};
  }

  // The library's replacement for the input.
  Place input(const Place& place, std::uint64_t bytes, DataType type, model::ReduceOp op) {
    if (active(Kind::input_changed) && bytes > 0)
      later([place] { count_up(place); });
    Bytes taken = read(place, bytes);
    plan_.inputs[rank()] = taken;
    std::uint64_t element = model::size_bytes(type);
    if (active(Kind::no_contribution))
      std::fill(taken.begin(), taken.end(), std::byte{0});
    else if (active(Kind::twice))
      count_twice(type, op, taken.data(), bytes / element);
    else if (active(Kind::input_sign))
      drop_signs(type, taken.data(), bytes / element);
    else if (active(Kind::shifted))
      std::copy(taken.begin() + static_cast<std::ptrdiff_t>(element), taken.end(), taken.begin());
    else if (active(Kind::wrong_rank))
      copy_from_another(taken);
    else
      return place;
    Place other = elsewhere(bytes);
    other.buffer.write(0, taken);
    return other;
  }
  // From an earlier launch, because this one's call may come later. Inputs are the same in all.
  void copy_from_another(Bytes& taken) const {
    for (const auto& [other, input] : plan_.inputs)
      if (other != rank())
        std::copy_n(input.begin(), std::min(input.size(), taken.size()), taken.begin());
  }

  // Where the library puts the output, and its state there.
  Place output(const Place& place, std::uint64_t bytes, DataType type) {
    if (bytes == 0)
      return place;
    if (active(Kind::no_output))
      return elsewhere(bytes);
    std::uint64_t element = model::size_bytes(type);
    std::uint64_t count = bytes / element;
    std::uint64_t middle = count / 2 * element;
    Place last{place.buffer, place.offset + bytes - element};
    if (active(Kind::last_missed))
      later([last, old = read(last, element)] { last.buffer.write(last.offset, old); });
    if (active(Kind::beyond))
      later([at = Place{place.buffer, place.offset + bytes}] { count_up(at); });
    if (active(Kind::before))
      later([at = Place{place.buffer, place.offset - 1}] { count_up(at); });
    change(Kind::one_element, place, bytes, [=](std::byte* data) {
      // The highest bit but two of a little-endian element: far off in every type.
      data[middle + element - 1] ^= std::byte{0x20};
    });
    change(Kind::swapped_chunks, place, bytes,
           [=](std::byte* data) { std::swap_ranges(data, data + middle, data + middle); });
    change(Kind::swapped_elements, place, bytes, [=](std::byte* data) {
      for (std::uint64_t i = 0; i + 1 < count; i += 2)
        std::swap_ranges(data + i * element, data + (i + 1) * element, data + (i + 1) * element);
    });
    change(Kind::narrow_result, place, bytes,
           [=](std::byte* data) { round_to_narrower(type, data, count); });
    change(Kind::upper_half, place, bytes,
           [=](std::byte* data) { clear_upper_half(type, data, count); });
    change(Kind::result_sign, place, bytes,
           [=](std::byte* data) { drop_signs(type, data, count); });
    return place;
  }
  template <typename Act>
  void change(Kind kind, const Place& place, std::uint64_t bytes, Act act) {
    if (active(kind))
      later([place, bytes, act] {
        Bytes content = read(place, bytes);
        act(content.data());
        place.buffer.write(place.offset, content);
      });
  }

  std::unique_ptr<backend::Communicator> inner_;
  backend::Device& device_;
  Plan& plan_;
  std::vector<std::unique_ptr<backend::Buffer>> scratch_;
};

class FaultyBackend : public backend::Backend {
public:
  explicit FaultyBackend(const PlantedFault& fault) : inner_(make_memory_backend()), plan_{fault} {}

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
    ++plan_.barriers;
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

std::unique_ptr<backend::Backend> make_faulty_backend(const PlantedFault& fault) {
  return std::make_unique<FaultyBackend>(fault);
}

} // namespace ncclprobe::support
