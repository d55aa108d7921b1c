// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "launch/supervisor/fleet.h"

#include <deque>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

class LocalFleet : public Fleet {
public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string description() const override { return ""; }

  void post(int, std::string bytes) override { inbox_.push_back({0, std::move(bytes)}); }

  std::optional<ReceivedMessage> poll() override {
    if (inbox_.empty())
      return std::nullopt;
    ReceivedMessage message = std::move(inbox_.front());
    inbox_.pop_front();
    return message;
  }

  Result<std::vector<std::string>> all_gather(std::string bytes,
                                              std::chrono::nanoseconds) override {
    return std::vector<std::string>{std::move(bytes)};
  }

  std::optional<ClockReading> compare_clocks() override {
    return ClockReading{base::monotonic_ns(), 0, 0, 0};
  }

  void leave_alone() override {}
  void leave() override {}

  [[noreturn]] void abort(int exit_code) override { ::_exit(exit_code); }

private:
  std::deque<ReceivedMessage> inbox_;
};

} // namespace

std::unique_ptr<Fleet> make_local_fleet() {
  return std::make_unique<LocalFleet>();
}

} // namespace ncclprobe::launch
