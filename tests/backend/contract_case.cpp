// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/contract_case.h"

#include "support/catch.h"

#include <algorithm>

namespace ncclprobe::contract {

using model::Collective;

namespace {

constexpr std::uint64_t k_guard_bytes = 64; // poison after each buffer

bool is_poison(backend::Buffer& buffer, std::uint64_t offset) {
  std::vector<std::byte> bytes(buffer.size_bytes() - offset);
  buffer.read(offset, bytes);
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte one) { return one == std::byte{model::k_poison_byte}; });
}

} // namespace

std::string Case::in_words() const {
  return fmt::format("{} {} {} {} count {} root {}", model::to_string(collective),
                     model::to_string(type), model::to_string(op), model::to_string(placement),
                     count, root);
}

CaseRun::CaseRun(World& world, const Case& one)
    : world_(world), case_(one), n_(world.ranks()),
      pattern_(model::pattern_for(k_contract_seed, one.collective, one.type, one.op, n_)) {
  auto blocks = model::block_counts(one.collective, n_);
  auto largest = static_cast<std::uint64_t>(std::max(blocks.send, blocks.receive)) * one.count;
  for (int rank = 0; rank < n_; ++rank) {
    receive_.push_back(world.device(rank).allocate(bytes(largest) + k_guard_bytes));
    send_.push_back(world.device(rank).allocate(bytes(send_count()) + k_guard_bytes));
    receive_.back()->poison();
    send_.back()->poison();
    backend::Place place = send(rank);
    place.buffer.fill(place.offset, one.type, pattern_, rank, send_count());
  }
}

std::uint64_t CaseRun::send_count() const {
  return static_cast<std::uint64_t>(model::block_counts(case_.collective, n_).send) * case_.count;
}

void CaseRun::enqueue(int stream) {
  world_.on_all_ranks([&](int rank) {
    world_.communicator(rank).enqueue({case_.collective, send(rank), receive(rank), case_.count,
                                       case_.type, case_.op, case_.root},
                                      world_.stream(rank, stream));
  });
}

model::Expectation CaseRun::expected(int rank) const {
  return model::expectation_for(case_.collective, case_.op, case_.root, case_.count, rank, n_);
}

backend::Mismatch CaseRun::compare(int rank) {
  backend::Place place = receive(rank);
  return place.buffer.compare(place.offset, case_.type, pattern_, expected(rank));
}

void CaseRun::require_right() {
  for (int rank = 0; rank < n_; ++rank) {
    backend::Mismatch found = compare(rank);
    INFO(case_.in_words() << " rank " << rank << " of " << n_ << ": first wrong " << found.first
                          << " bits " << found.first_bits);
    REQUIRE(found.wrong == 0);
    REQUIRE(found.elements == expected(rank).count);

    backend::Buffer& receive_buffer = *receive_[static_cast<std::size_t>(rank)];
    backend::Buffer& send_buffer = *send_[static_cast<std::size_t>(rank)];
    REQUIRE(is_poison(receive_buffer, receive_buffer.size_bytes() - k_guard_bytes));
    REQUIRE(is_poison(send_buffer, bytes(send_count())));
    if (in_place())
      continue;
    if (expected(rank).count == 0)
      REQUIRE(is_poison(receive_buffer, 0));
    std::uint64_t block = std::max<std::uint64_t>(1, send_count());
    model::Expectation untouched{false, model::ReduceOp::sum, n_, rank, 0, block, send_count()};
    REQUIRE(send_buffer.compare(0, case_.type, pattern_, untouched).wrong == 0);
  }
}

// In place: as NCCL defines it for each collective.
backend::Place CaseRun::receive(int rank) {
  bool moves = in_place() && (case_.collective == Collective::reduce_scatter ||
                              (case_.collective == Collective::scatter && rank == case_.root));
  return {*receive_[static_cast<std::size_t>(rank)],
          moves ? bytes(static_cast<std::uint64_t>(rank) * case_.count) : 0};
}

backend::Place CaseRun::send(int rank) {
  bool roots_only =
      case_.collective == Collective::gather || case_.collective == Collective::scatter;
  if (!in_place() || (roots_only && rank != case_.root))
    return {*send_[static_cast<std::size_t>(rank)], 0};
  bool gathers =
      case_.collective == Collective::all_gather || case_.collective == Collective::gather;
  return {*receive_[static_cast<std::size_t>(rank)],
          gathers ? bytes(static_cast<std::uint64_t>(rank) * case_.count) : 0};
}

} // namespace ncclprobe::contract
