// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/shared_buffers.h"

#include <charconv>
#include <numeric>

namespace ncclprobe::worker {

SharedBuffers::SharedBuffers(const std::vector<LocalRankState>& local_ranks, int world_size,
                             backend::Rendezvous& rendezvous)
    : ranks_(local_ranks), world_size_(world_size), rendezvous_(rendezvous) {}

// From the schedule alone, so all ranks reach the same answer.
bool SharedBuffers::grows(int index, const model::BufferDecl& declared) {
  auto& largest = largest_bytes_[index];
  largest.resize(world_size_);
  bool grows = false;
  for (int rank = 0; rank < world_size_; ++rank) {
    std::uint64_t& before = largest[rank];
    std::uint64_t now = declared.bytes.at(rank);
    grows = grows || now > before;
    before = std::max(before, now);
  }
  return grows;
}

void SharedBuffers::exchange(const model::Schedule& schedule, const LocalBuffers& own) {
  for (int index = 0; index < std::ssize(schedule.buffers); ++index) {
    const model::BufferDecl& declared = schedule.buffers[index];
    if (declared.memory == model::Memory::shared && grows(index, declared))
      exchange(index, own);
  }
}

// "<bytes> <handle>", or "0 <why not>": a rank that cannot share must not make the others wait.
void SharedBuffers::exchange(int index, const LocalBuffers& own) {
  std::map<int, std::string> texts;
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank) {
    backend::Buffer& buffer = *own[local_rank][index];
    std::string& text = texts[ranks_[local_rank].rank];
    try {
      text = buffer.size_bytes() == 0 ? "0 it is empty"
                                      : fmt::format("{} {}", buffer.size_bytes(), buffer.share());
    } catch (const Exception& error) {
      text = "0 " + error.error().message;
    }
  }
  std::vector<int> everybody(world_size_);
  std::iota(everybody.begin(), everybody.end(), 0);
  auto all = rendezvous_.exchange(fmt::format("shared buffers {}", exchanges_++), everybody, texts);
  std::vector<Offer>& offers = offers_[index];
  offers.clear();
  for (const std::string& text : all) {
    Offer offer;
    std::size_t blank = text.find(' ');
    auto [end, problem] =
        std::from_chars(text.data(), text.data() + std::min(blank, text.size()), offer.bytes);
    if (blank == std::string::npos || problem != std::errc{} || end != text.data() + blank)
      raise(Errc::protocol, "a rank describes a shared buffer in an unknown form");
    offer.handle = text.substr(blank + 1);
    offers.push_back(std::move(offer));
  }
}

backend::Buffer& SharedBuffers::of(std::size_t local_rank, int rank, int index) {
  auto offers = offers_.find(index);
  if (offers == offers_.end())
    raise(Errc::unsupported, "another process drives rank {}, and its buffer {} is not shared",
          rank, index);
  const Offer& offer = offers->second[rank];
  if (offer.bytes == 0)
    raise(Errc::unsupported, "rank {} cannot share its buffer {}: {}", rank, index, offer.handle);
  auto& mapped = mapped_[{local_rank, rank, offer.handle}];
  if (!mapped)
    mapped = ranks_[local_rank].device->map_shared(offer.handle, offer.bytes);
  return *mapped;
}

} // namespace ncclprobe::worker
