// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/contract_world.h"

#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace ncclprobe::contract {

World::World(const ContractSubject& subject, int ranks) {
  backend::Options options;
  options.host_of_rank.assign(static_cast<std::size_t>(ranks), 0);
  options.seed = 7;
  backend_ = subject.make(options);
  for (int rank = 0; rank < ranks; ++rank)
    devices_.push_back(backend_->open_device(rank));
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  world_ = connect("world", all);
}

// No rank may close its connections before all are through.
World::~World() {
  try {
    std::vector<backend::Communicator*> members;
    for (auto& member : world_)
      members.push_back(member.get());
    backend_->max_over_ranks(members, 0);
  } catch (const std::exception&) { // the test has failed already
  }
}

backend::Stream& World::stream(int rank, int index) {
  while (static_cast<int>(streams_.size()) <= index) {
    streams_.emplace_back();
    for (auto& device : devices_)
      streams_.back().push_back(device->open_stream(0));
  }
  return *streams_[static_cast<std::size_t>(index)][static_cast<std::size_t>(rank)];
}

std::vector<std::unique_ptr<backend::Communicator>> World::connect(const std::string& key,
                                                                   const std::vector<int>& ranks) {
  std::vector<backend::Member> members;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    members.push_back({ranks[i], static_cast<int>(i), &device(ranks[i])});
  return backend_->connect(key, ranks, members, rendezvous_);
}

std::vector<std::unique_ptr<backend::Communicator>> World::split(const std::string& key,
                                                                 const std::vector<int>& ranks) {
  std::vector<backend::SplitMember> members;
  for (int rank = 0; rank < this->ranks(); ++rank) {
    auto at = std::find(ranks.begin(), ranks.end(), rank);
    int own = at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
    members.push_back({&communicator(rank), {rank, own, &device(rank)}});
  }
  return backend_->split(key, ranks, members, rendezvous_);
}

void World::wait() {
  for (auto& of_index : streams_)
    for (auto& stream : of_index)
      wait(*stream);
}

void World::wait(backend::Stream& stream) {
  auto deadline = base::Deadline::after(std::chrono::seconds(30));
  while (!stream.idle())
    if (deadline.expired())
      base::raise(base::Errc::timed_out, "a stream is still busy after 30 s");
}

} // namespace ncclprobe::contract
