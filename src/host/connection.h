// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/collectives.h"
#include "host/stream.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace ncclprobe::host {

// One rank's side of a communicator. It has a control mesh, which all ranks create together through
// the rendezvous, and one lane for each stream that runs collectives.
//
// The first such stream uses the control mesh. Each further stream gets its own mesh when its
// thread reaches its first collective. All ranks run the collectives of a communicator in one
// order, so they open lane n at the same collective. They exchange the addresses through the
// control mesh under the lane's own tag. Messages between two ranks (transfer) need no lane,
// because other ranks would never help to open one. They are numbered per pair and use the control
// mesh.
//
// Shared by the communicator and its streams' jobs.
class Connection : public Abortable {
public:
  Connection(std::string name, int rank, int size, std::shared_ptr<gloo::transport::Device> device);

  // Both exist only with more than one rank.
  std::string open();
  void connect(const std::vector<std::string>& blobs);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Number of the lane for collectives on that stream; a new stream gets a new lane.
  std::size_t lane_of(std::uint64_t stream_id);
  void run(std::size_t lane, const HostCollective&, const HostSettings&);

  // The n-th message to (or from) a peer, counted from 0.
  std::uint64_t next_send(int peer) { return sends_[peer]++; }
  std::uint64_t next_receive(int peer) { return receives_[peer]++; }
  Mesh& control() { return *control_; }

  // Largest value over all ranks; each rank must call it.
  double largest(double value);

  void abort() noexcept override;
  // Runs it and stores what it throws, as a Exception that says where the error occurred.
  template <typename Work>
  void guard(const std::string& what, Work work) {
    try {
      work();
    } catch (const std::exception& error) {
      fail(what, error);
    }
  }
  void throw_if_failed();

private:
  [[noreturn]] void fail(const std::string& what, const std::exception&);
  void open_lane(std::size_t number);

  std::string name_;
  int rank_;
  int size_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<Mesh> control_;
  std::vector<std::uint64_t> streams_; // lane -> stream id; driving thread only
  std::vector<std::uint64_t> sends_;   // by peer; driving thread only
  std::vector<std::uint64_t> receives_;

  std::mutex mutex_; // guards the members below: lanes are added while others are in use
  std::vector<std::unique_ptr<CollectiveLane>> lanes_;
  std::optional<Error> error_;
  bool aborted_ = false;
};

} // namespace ncclprobe::host
