// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/connection.h"

#include "base/resource_limits.h"
#include "host/slots.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>

#include <algorithm>

namespace ncclprobe::host {

Connection::Connection(std::string name, int rank, int size,
                       std::shared_ptr<gloo::transport::Device> device)
    : name_(std::move(name)), rank_(rank), size_(size), device_(std::move(device)), sends_(size),
      receives_(size) {}

std::string Connection::open() {
  control_ = std::make_shared<Mesh>(rank_, size_, device_);
  std::string blob;
  guard("listening", [&] { blob = control_->open(); });
  return blob;
}

void Connection::connect(const std::vector<std::string>& blobs) {
  guard("connecting", [&] { control_->connect(blobs); });
}

std::size_t Connection::lane_of(std::uint64_t stream_id) {
  auto found = std::ranges::find(streams_, stream_id);
  auto number = static_cast<std::size_t>(found - streams_.begin());
  if (found != streams_.end())
    return number;
  streams_.push_back(stream_id);
  std::lock_guard lock(mutex_);
  lanes_.push_back(std::make_unique<CollectiveLane>());
  if (number == 0)
    lanes_.front()->mesh = control_;
  return number;
}

// Runs in the stream's thread. Every rank adds the number of its stream's lane: all must use the
// same lane.
void Connection::open_lane(std::size_t number) {
  auto mesh = std::make_shared<Mesh>(rank_, size_, device_);
  std::string own = mesh->open();
  std::string all(own.size() * static_cast<std::size_t>(size_), '\0');
  gloo::AllgatherOptions options(control_);
  options.setTag(lane_tag(static_cast<std::uint32_t>(number)));
  options.setInput(own.data(), own.size());
  options.setOutput(all.data(), all.size());
  gloo::allgather(options);
  std::vector<std::string> blobs;
  for (int peer = 0; peer < size_; ++peer)
    blobs.push_back(all.substr(static_cast<std::size_t>(peer) * own.size(), own.size()));
  {
    std::lock_guard lock(mutex_);
    if (aborted_)
      raise(Errc::failed, "the communicator was aborted");
    lanes_[number]->mesh = mesh;
  }
  mesh->connect(blobs);
}

void Connection::run(std::size_t number, const HostCollective& call, const HostSettings& settings) {
  CollectiveLane* lane = nullptr;
  {
    std::lock_guard lock(mutex_);
    lane = lanes_[number].get();
  }
  guard(fmt::format("{} of {} {}", to_string(call.collective), call.count, to_string(call.type)),
        [&] {
          if (size_ > 1 && !lane->mesh)
            open_lane(number);
          run_collective(call, *lane, settings);
        });
}

double Connection::largest(double value) {
  if (size_ == 1)
    return value;
  guard("barrier of all ranks", [&] {
    gloo::AllreduceOptions options(control_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);
    options.setTag(k_barrier_tag);
    options.setOutput(&value, 1);
    options.setReduceFunction([](void* out, const void* a, const void* b, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        static_cast<double*>(out)[i] =
            std::max(static_cast<const double*>(a)[i], static_cast<const double*>(b)[i]);
    });
    gloo::allreduce(options);
  });
  return value;
}

void Connection::abort() noexcept {
  std::vector<std::shared_ptr<Mesh>> meshes;
  {
    std::lock_guard lock(mutex_);
    aborted_ = true;
    meshes.push_back(control_);
    for (const auto& lane : lanes_)
      meshes.push_back(lane->mesh);
  }
  for (const auto& mesh : meshes)
    if (mesh)
      mesh->abort();
}

void Connection::throw_if_failed() {
  std::lock_guard lock(mutex_);
  if (error_)
    throw Exception(*error_);
}

void Connection::fail(const std::string& what, const std::exception& error) {
  Error described{Errc::peer_ended, error.what(), "a peer has probably ended or given up"};
  if (const auto* ours = dynamic_cast<const Exception*>(&error))
    described = ours->error();
  else if (auto shortage = base::shortage_behind(error))
    described = *shortage;
  described.message =
      fmt::format("gloo: {} on {}, rank {}: {}", what, name_, rank_, described.message);
  std::lock_guard lock(mutex_);
  if (!error_)
    error_ = described;
  throw Exception(described);
}

} // namespace ncclprobe::host
