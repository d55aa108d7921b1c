// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tree_mail.h"

#include "packed_again.h"

#include "base/log.h"
#include "launch/supervisor/tree_fleet.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

using namespace ncclprobe;

namespace {

constexpr int k_size = 100;
constexpr char k_end_of_mail = '\xFF';

// A supervisor that hears what the input says, and whose own mail goes nowhere.
class HearingFleet : public launch::TreeFleet {
public:
  HearingFleet(int rank, std::string_view bytes)
      : TreeFleet(rank, k_size, launch::k_fan_out), rest_(bytes) {}

  std::string description() const override { return ""; }
  std::optional<launch::ClockReading> compare_clocks() override { return std::nullopt; }
  void leave() override {}
  [[noreturn]] void abort(int) override { std::abort(); }

  void hear_all() {
    const int gather = begin_gather("own");
    while (!rest_.empty() || poll())
      (void)poll();
    if (rank() == 0) {
      bypass_missing(gather);
      (void)end_gather(gather, std::nullopt);
    } else {
      try {
        (void)gather_answer(gather);
      } catch (const Exception&) { // ends the run in order
      }
    }
  }

protected:
  void send(int to, const Bytes&) override {
    if (to < 0 || to >= k_size || to == rank())
      std::abort();
  }
  // The first byte of each mail is its sender.
  std::optional<Arrived> receive() override {
    if (rest_.empty())
      return std::nullopt;
    const int from = static_cast<unsigned char>(rest_.front()) % k_size;
    const std::size_t end = std::min(rest_.find(k_end_of_mail, 1), rest_.size());
    Arrived arrived{from == rank() ? (from + 1) % k_size : from,
                    std::string(rest_.substr(1, end - 1))};
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return arrived;
  }
  std::set<int> unsent() override { return {}; }
  launch::Network network() const override { return launch::Network::tcp; }

private:
  std::string_view rest_;
};

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off); // it names the sender of each damaged mail
  return 0;
}

// The first byte chooses the reader.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 6) {
  case 0:
    (void)fuzz::packed_again<launch::Bundle>(bytes);
    break;
  case 1:
    (void)fuzz::packed_again<launch::DownBundle>(bytes);
    break;
  case 2:
    (void)fuzz::packed_again<launch::Gathered>(bytes);
    break;
  case 3:
    HearingFleet(0, bytes).hear_all();
    break;
  case 4:
    HearingFleet(1, bytes).hear_all(); // it has a parent and children
    break;
  default:
    HearingFleet(k_size - 1, bytes).hear_all();
  }
  return 0;
}
