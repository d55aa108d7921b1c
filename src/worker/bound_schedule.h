// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::worker {

// What one of this process's ranks holds across cells.
struct SeatState {
  int rank = 0; // global
  backend::Device* device = nullptr;
  std::vector<std::unique_ptr<backend::Buffer>> buffers; // by index, grown on demand
  std::map<std::pair<int, int>, std::unique_ptr<backend::Stream>> streams; // by (index, priority)
  std::map<int, std::unique_ptr<backend::Event>> events;
};

// This process's members of one communicator.
struct LocalCommunicator {
  std::vector<int> ranks;         // global ranks, all of them
  std::vector<std::size_t> seats; // indexes of the seats that are members
  std::vector<std::unique_ptr<backend::Communicator>> members; // one per entry of `seats`
};

// A schedule tied to this process's buffers, streams and communicators, so that launching it again
// and again looks nothing up.
class BoundSchedule {
public:
  // All arguments outlive the object. `communicators` follows schedule.communicators.
  BoundSchedule(const model::Schedule& schedule, backend::Backend& backend,
                std::vector<SeatState>& seats,
                const std::vector<LocalCommunicator*>& communicators);

  void launch(const model::Region& region);
  // Operations before and after the timed region.
  void launch_before();
  void launch_after();

  // Waits until every stream is idle. `on_seat_done(seat)` is called as soon as all streams of that
  // seat are. Throws what went wrong in a stream or communicator.
  void wait(const std::function<void(std::size_t)>& on_seat_done = {});

private:
  using Step = std::function<void()>;
  struct Launch {
    Step step;
    bool needs_group =
        false; // several local ranks take part: one NCCL group, or they would wait for each other
  };

  void bind(const model::Operation& operation);
  template <typename Op, typename Enqueue>
  void bind_communication(const model::Operation&, const Op&, Enqueue);
  backend::Stream& stream(std::size_t seat, int index);
  backend::Event& event(std::size_t seat, int index);
  std::size_t seat_of(int global_rank) const; // k_nobody if another process drives it
  bool takes_part(const model::Operation& operation, int global_rank) const;

  const model::Schedule& schedule_;
  backend::Backend& backend_;
  std::vector<SeatState>& seats_;
  const std::vector<LocalCommunicator*>& communicators_;
  std::vector<std::vector<Launch>> launches_; // by operation
  bool in_group_ = false;
};

} // namespace ncclprobe::worker
