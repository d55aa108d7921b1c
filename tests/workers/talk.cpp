// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "talk.h"

#include "base/allowed_cpus.h"
#include "base/number_list.h"
#include "base/version.h"

#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ncclprobe::test_worker {
namespace {

void kill_group_at_end_of_file() {
  pollfd entry{wire::k_channel_fd, POLLRDHUP, 0};
  ::poll(&entry, 1, -1);
  ::kill(0, SIGKILL);
}

} // namespace

bool chosen() {
  static const bool is_chosen = [] {
    const char* once = std::getenv("MISBEHAVE_ONCE");
    return std::getenv("MISBEHAVE") != nullptr && (once == nullptr || ::mkdir(once, 0700) == 0);
  }();
  return is_chosen;
}

std::string own_version() {
  return std::getenv("MISBEHAVE_ONCE") != nullptr ? std::string(base::version()) : "test";
}

Talk::Talk(Guard guard, const std::string& version) : channel_(base::Fd(wire::k_channel_fd)) {
  if (guard == Guard::yes)
    std::thread(kill_group_at_end_of_file).detach();
  wire::Message hello{-1, wire::Hello{wire::k_protocol_version, version, getpid()}};
  base::value_or_throw(channel_.send(hello));
  start_ = std::get<wire::Start>(receive().body);
}

wire::Message Talk::receive() {
  auto message = channel_.receive(base::Deadline::never());
  while (!message) // the guard thread ends the group; aborting here would leave its children
    ::pause();
  return std::move(**message);
}

void Talk::send(wire::Body body) {
  base::value_or_throw(channel_.send({rank(), std::move(body)}));
}

void Talk::enter(wire::WorkerPhase phase, int cell) {
  base::value_or_throw(channel_.send({-1, wire::Phase{phase, cell}}));
}

std::map<int, std::string> Talk::exchange(const std::string& key, const std::string& bytes) {
  wire::Exchange exchange{key, {}, {}};
  for (int member = 0; member < start_.spec.ranks; ++member)
    exchange.members.push_back(member);
  for (const wire::RankDevice& one : start_.ranks)
    exchange.contributions[one.rank] = bytes;
  send(std::move(exchange));
  return std::get<wire::Exchange>(receive().body).contributions;
}

void Talk::init() {
  exchange(wire::k_turn_key, "");
  enter(wire::WorkerPhase::ready);
  enter(wire::WorkerPhase::communicator_init);
  exchange("init", std::to_string(rank()));
  send(wire::Loaded{{{"talk", "1.0", "/talk.so", "as it says"}},
                    base::format_number_list(base::allowed_cpus()),
                    {{rank(), model::MemoryUse::What::connected, 1 << 20}}});
  exchange(wire::k_measure_key, "");
}

void Talk::begin_cell(int cell) {
  enter(wire::WorkerPhase::cell, cell);
  exchange("cell " + std::to_string(cell), std::string(1, '\0'));
}

void Talk::end_cell(int cell) {
  for (const wire::RankDevice& one : start_.ranks) {
    wire::CellEnd end{cell, {{}, {true, 10, 0, "", ""}, {}, {}}};
    for (int batch = 0; batch < 2; ++batch)
      end.result.samples.push_back(
          {one.rank, batch, 20, 1000 * cell + 10 * one.rank + batch, 500 + batch});
    base::value_or_throw(channel_.send({one.rank, std::move(end)}));
  }
}

void Talk::run_cells(int first, int last) {
  for (int cell = first; cell < last; ++cell) {
    begin_cell(cell);
    end_cell(cell);
  }
}

void Talk::done() {
  base::value_or_throw(channel_.send({-1, wire::Done{}}));
}

int Talk::behave() {
  init();
  run_cells(0, cells());
  done();
  ::_exit(0); // the guard's thread may be in its way out
}

} // namespace ncclprobe::test_worker
