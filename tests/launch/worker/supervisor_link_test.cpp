// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/supervisor_link.h"
#include "support/catch.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

using namespace ncclprobe;
using Step = worker::ProgressBoard::Step;

namespace {

// The link's thread ends with the process, and kills it at the channel's end: nothing of this is
// ever destroyed.
struct LinkLab {
  worker::ProgressBoard board;
  std::optional<wire::Channel> supervisor;
  std::optional<worker::SupervisorLink> link;
};
LinkLab& make_lab() {
  static std::vector<LinkLab*> labs; // still reachable at the end
  LinkLab* lab = labs.emplace_back(new LinkLab);
  auto ends = wire::make_channel().value();
  lab->supervisor.emplace(std::move(ends.first));
  lab->link.emplace(std::move(ends.second), lab->board);
  return *lab;
}

wire::Position ask(wire::Channel& supervisor) {
  REQUIRE(supervisor.send({-1, wire::Where{}}));
  auto answer = supervisor.receive(base::Deadline::after(std::chrono::seconds(30)));
  REQUIRE(answer);
  REQUIRE(answer->has_value());
  return std::get<wire::Position>((**answer).body);
}

// Of /proc/<pid>/task/<tid>/stat: "123 (name) S ...".
bool sleeps(const std::string& state_file) {
  std::ifstream file(state_file);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.find(") S ") != std::string::npos;
}

} // namespace

extern "C" __attribute__((noinline, visibility("default"))) void
ncclprobe_test_loop(std::atomic<bool>& entered, std::atomic<bool>& go_on) {
  entered = true;
  while (go_on) {
  }
}

TEST_CASE("asked where it is, a worker in an endless loop names position and function") {
  LinkLab& lab = make_lab();
  lab.board.set_batch(3, 20);
  lab.board.set_launch(12);
  lab.board.set(Step::launching);
  std::atomic<bool> entered = false;
  std::atomic<bool> go_on = true;
  wire::Position position;

  std::thread supervisor([&] {
    while (!entered)
      std::this_thread::yield();
    position = ask(*lab.supervisor);
    go_on = false;
  });
  ncclprobe_test_loop(entered, go_on);
  supervisor.join();

  CHECK(position.position == "launch 12 of 20 of batch 3");
  CHECK_THAT(position.stack, ContainsSubstring("ncclprobe_test_loop"));
  CHECK(position.stack.find("ncclprobe_test_loop") < position.stack.find("main"));
}

TEST_CASE("asked where it is, a worker in a system call answers too") {
  LinkLab& lab = make_lab();
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  wire::Position position;

  std::atomic<bool> about_to_read = false;
  std::string state_file = "/proc/self/task/" + std::to_string(gettid()) + "/stat";
  std::thread supervisor([&] {
    while (!about_to_read || !sleeps(state_file))
      std::this_thread::yield();
    position = ask(*lab.supervisor);
    CHECK(write(ends[1], "x", 1) == 1);
  });
  char byte = 0;
  about_to_read = true;
  ssize_t size = read(ends[0], &byte, 1);
  supervisor.join();

  CHECK(size == 1); // the call was taken up again after the signal
  CHECK(position.position.empty());
  CHECK_THAT(position.stack, ContainsSubstring("read+"));
}
