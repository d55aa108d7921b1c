// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wire/channel.h"

#include <map>
#include <string>

// The steps of a well-behaved worker, so that each misbehaving one needs only a few lines.
namespace ncclprobe::test_worker {

// Whether this rank shall misbehave: the trial sets MISBEHAVE on it. MISBEHAVE_ONCE is a folder
// that the first such rank makes: no other one misbehaves.
bool chosen();

// Differs from ncclprobe's, unless MISBEHAVE_ONCE is set: then it takes part in runs of the real
// program.
std::string own_version();

// Ends this process's group when the supervisor is gone, as ncclprobe-worker does.
enum class Guard { yes, no };

class Talk {
public:
  // Says hello and waits for the start.
  explicit Talk(Guard guard = Guard::yes, const std::string& version = own_version());
  int rank() const { return start_.ranks.front().rank; }
  int trial() const { return start_.spec.id; }
  int cells() const { return static_cast<int>(start_.spec.cells.size()); }

  void send(wire::Body body);
  void enter(wire::WorkerPhase phase, int cell = -1);
  // All ranks of the trial exchange data under `key`; returns the others' contributions.
  std::map<int, std::string> exchange(const std::string& key, const std::string& bytes);
  void init();               // ready, communicator_init, and the exchanges between
  void begin_cell(int cell); // enters it, and an exchange
  void end_cell(int cell);   // two batches on each of its ranks
  // Cells first .. last-1.
  void run_cells(int first, int last);
  void done();
  // Waits for the next message: whether the supervisor asks where this worker is.
  bool is_asked_where() { return std::holds_alternative<wire::Where>(receive().body); }
  // All of it; returns the exit code.
  int behave();

private:
  wire::Message receive();
  wire::Channel channel_;
  wire::Start start_;
};

// A worker of a name: what the program of this name does.
struct Worker {
  Worker(const char* worker_name, int (*worker_main)(int, char**));
  const char* name;
  int (*main)(int argc, char** argv);
  const Worker* next;
};

} // namespace ncclprobe::test_worker

// Begins the worker's main function. All workers are one program, under many names: that is
// compiled and linked much faster than a program for each.
#define NCCLPROBE_TEST_WORKER(worker)                                                              \
  static int worker(int, char**);                                                                  \
  static const ::ncclprobe::test_worker::Worker worker##_worker(#worker, worker);                  \
  static int worker([[maybe_unused]] int argc, [[maybe_unused]] char** argv)
