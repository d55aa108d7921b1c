// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// A small program for mpirun: does what the scenario named on its command line says and checks it.
// Exit code 0 and "ok" from the leader, or a complaint and the end of the whole job.
#include "processes.h"
#include "trial_lab.h"

#include "base/clock.h"
#include "base/log.h"
#include "launch/supervisor/supervisor.h"

#include <csignal>
#include <fstream>
#include <iostream>
#include <sys/resource.h>
#include <thread>

using namespace ncclprobe;
using model::OutcomeKind;

namespace {

constexpr int k_messages = 200;

void expect(launch::Fleet& fleet, bool holds, const std::string& what) {
  if (holds)
    return;
  std::cerr << "supervisor " << fleet.rank() << ": expected " << what << std::endl;
  fleet.abort(1);
}

// Different lengths, with zeros and one that no eager buffer takes.
std::string content_of(int from, int number) {
  std::string text = std::to_string(from) + "/" + std::to_string(number) + std::string(1, '\0');
  return text + std::string(number % 50 == 7 ? 3 << 20 : static_cast<std::size_t>(number), 'x');
}

void gather(launch::Fleet& fleet) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string> all =
        *fleet.all_gather(content_of(fleet.rank(), fleet.rank() * round));
    expect(fleet, static_cast<int>(all.size()) == fleet.size(), "a part of everybody");
    for (int rank = 0; rank < fleet.size(); ++rank)
      expect(fleet, all[static_cast<std::size_t>(rank)] == content_of(rank, rank * round),
             "parts by rank");
  }
  expect(fleet, fleet.all_gather("").has_value(), "nothing of everybody");
}

// The last one hands nothing in: the others hear of it soon, all in the same words.
void silent(launch::Fleet& fleet) {
  if (fleet.rank() == fleet.size() - 1)
    std::this_thread::sleep_for(std::chrono::seconds(2));
  else if (auto all = fleet.all_gather("here", std::chrono::milliseconds(500)); all)
    std::cerr << "not all were there" << std::endl;
  else
    std::cerr << fmt::format("supervisor {}: {}\n", fleet.rank(), all.error().text()) << std::flush;
  fleet.leave_alone();
}

// Until another one is gone.
void stay(launch::Fleet& fleet) {
  (void)fleet.all_gather("");
  if (fleet.rank() == 0)
    std::cout << "all are here" << std::endl;
  while (fleet.lost().empty()) {
    (void)fleet.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fleet.leave_alone();
}

void messages(launch::Fleet& fleet) {
  for (int number = 0; number < k_messages; ++number)
    for (int to = 0; to < fleet.size(); ++to)
      fleet.post(to, content_of(fleet.rank(), number));
  std::vector<int> next(static_cast<std::size_t>(fleet.size()), 0);
  for (int left = k_messages * fleet.size(); left > 0;) {
    auto message = fleet.poll();
    if (!message)
      continue;
    int& number = next.at(static_cast<std::size_t>(message->from));
    expect(fleet, message->bytes == content_of(message->from, number),
           "messages in the order they were posted");
    ++number;
    --left;
  }
  (void)fleet.all_gather(""); // the last sends need somebody to move them on
}

// The leader runs `lead`, the others follow.
template <typename Lead>
void supervise(launch::Fleet& fleet, const std::string& worker, Lead lead) {
  launch::Supervisor supervisor(fleet, test_launch::make_layout(2 * fleet.size(), fleet.size()),
                                test_launch::make_options(worker, test_launch::own_environment()));
  if (fleet.rank() != 0)
    return supervisor.follow();
  lead(supervisor);
  supervisor.release();
}

void trial(launch::Fleet& fleet) {
  supervise(fleet, "good", [&](launch::Supervisor& supervisor) {
    int ranks = 2 * fleet.size();
    for (int round = 0; round < 3; ++round) {
      model::TrialRecord record = supervisor.run(test_launch::make_spec(ranks, 5));
      expect(fleet, record.outcome.ok(), "a good trial, not: " + record.outcome.reason);
      expect(fleet, static_cast<int>(record.workers.size()) == ranks, "a record of each worker");
      expect(fleet, static_cast<int>(record.cells.at(4).samples.size()) == 2 * ranks,
             "all samples");
    }
  });
}

// MPI leaves sockets without close-on-exec.
void descriptors(launch::Fleet& fleet) {
  supervise(fleet, "describe_self", [&](launch::Supervisor& supervisor) {
    std::string reason = supervisor.run(test_launch::make_spec(2 * fleet.size(), 1)).outcome.reason;
    // Descriptor 4 is the listing itself.
    expect(fleet, reason.find(": descriptors 0 1 2 3 4;") != std::string::npos,
           "no other descriptors in workers: " + reason);
  });
}

void prepared(launch::Fleet& fleet) {
  launch::SupervisorOptions options =
      test_launch::make_options("crash_in_cell", test_launch::own_environment());
  options.prepare = true;
  int ranks = 2 * fleet.size();
  launch::Supervisor supervisor(fleet, test_launch::make_layout(ranks, fleet.size()), options);
  if (fleet.rank() != 0)
    return supervisor.follow();
  std::vector<model::TrialSpec> plan;
  for (int id = 0; id < 6; ++id) {
    plan.push_back(test_launch::make_spec(ranks, 2));
    plan.back().id = id;
  }
  plan[2].process.per_rank[ranks - 1] = {{"MISBEHAVE", "yes"}};
  for (std::size_t next = 0; next < plan.size(); ++next) {
    model::TrialRecord record = supervisor.run(plan[next], std::span(plan).subspan(next + 1));
    expect(fleet, record.outcome.ok() == (next != 2), "all good but one: " + record.outcome.reason);
    expect(fleet, record.prepared == (next != 0 && next != 3),
           fmt::format("trial {} of {} prepared: the first and the one after the crash are not",
                       next, plan.size()));
  }
  supervisor.release();
}

void crash(launch::Fleet& fleet) {
  supervise(fleet, "crash_in_cell", [&](launch::Supervisor& supervisor) {
    int ranks = 2 * fleet.size();
    for (int bad_rank : {ranks - 1, 0}) {
      std::int64_t start_ns = base::monotonic_ns();
      model::TrialRecord record = supervisor.run(test_launch::make_spec(ranks, 3, bad_rank));
      std::int64_t taken_ns = base::monotonic_ns() - start_ns;
      expect(fleet, record.outcome.kind == OutcomeKind::crashed,
             "a crash, not: " + record.outcome.reason);
      expect(fleet, record.outcome.ranks == std::vector{bad_rank}, "the rank that crashed");
      expect(fleet, record.cells[0].outcome.ok(), "what was finished before");
      expect(fleet, record.cells[2].outcome.kind == OutcomeKind::not_run,
             "nothing after the crash");
      expect(fleet, taken_ns < 10'000'000'000, "an end before the peers' deadline of 20 s");
    }
    expect(fleet, supervisor.run(test_launch::make_spec(ranks, 3)).outcome.ok(),
           "a good trial after it");
  });
}

// All processes of this test read the same clock.
void clocks(launch::Fleet& fleet) {
  for (int round = 0; round < 5; ++round) {
    auto reading = fleet.compare_clocks();
    expect(fleet, reading.has_value(), "a reading");
    expect(fleet, std::abs(reading->offset_ns) <= reading->error_ns,
           fmt::format("no offset but the error: {} ns +- {} ns", reading->offset_ns,
                       reading->error_ns));
    expect(fleet, (fleet.rank() == 0) == (reading->error_ns == 0),
           "an error of all but the leader");
    (void)fleet.all_gather("");
  }
}

// Every supervisor hears of a trace when its trial is over, with readings from before and after.
void traced(launch::Fleet& fleet) {
  int ranks = 2 * fleet.size();
  std::vector<int> heard;
  launch::SupervisorOptions options =
      test_launch::make_options("good", test_launch::own_environment());
  options.on_trace = [&](const model::TrialSpec& spec, std::span<const launch::ClockReading> clock,
                         const std::function<void()>& send_heartbeat) {
    send_heartbeat();
    heard.push_back(spec.id);
    expect(fleet, clock.size() == 6 * heard.size(), "three readings before and after each");
    expect(fleet, spec.trace_folder == "/nonexistent/parts", "the folder of the spools");
    return std::vector<std::string>();
  };
  {
    launch::Supervisor supervisor(fleet, test_launch::make_layout(ranks, fleet.size()), options);
    if (fleet.rank() != 0) {
      supervisor.follow();
    } else {
      for (int id = 0; id < 4; ++id) {
        model::TrialSpec spec = test_launch::make_spec(ranks, 1);
        spec.id = id;
        if (id % 2 == 1) {
          spec.trace = model::TraceLevel::kernels;
          spec.trace_folder = "/nonexistent/parts";
        }
        expect(fleet, supervisor.run(spec).outcome.ok(), "a good trial");
        expect(fleet, static_cast<int>(heard.size()) == (id + 1) / 2, "its trace stored at once");
      }
      supervisor.release();
    }
  }
  expect(fleet, heard == std::vector{1, 3}, "both traced trials");
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void rest(launch::Fleet& fleet) {
  double before = cpu_seconds();
  std::int64_t start_ns = base::monotonic_ns();
  supervise(fleet, "rest_in_cell", [&](launch::Supervisor& supervisor) {
    expect(fleet, supervisor.run(test_launch::make_spec(2 * fleet.size(), 1)).outcome.ok(),
           "a good trial");
  });
  double share =
      (cpu_seconds() - before) / (static_cast<double>(base::monotonic_ns() - start_ns) / 1e9);
  const auto shares = fleet.all_gather(fmt::format("{:.2f}", 100 * share));
  for (const std::string& one : *shares) {
    if (fleet.rank() == 0)
      std::cout << "a waiting supervisor used " << one << "% of a core\n";
    expect(fleet, std::stod(one) < 2, "under 2% of a core, though it has two ranks");
  }
}

launch::Supervisor* stopped_by_signal = nullptr;

// Stays in a trial, with the next one prepared, until the job is ended from outside; the leader
// writes what it recorded.
void wait(launch::Fleet& fleet, const char* result_file) {
  launch::SupervisorOptions options =
      test_launch::make_options("wait_in_cell", test_launch::own_environment());
  options.prepare = true;
  launch::Supervisor supervisor(fleet, test_launch::make_layout(fleet.size(), fleet.size()),
                                options);
  stopped_by_signal = &supervisor;
  std::signal(SIGTERM, [](int) { stopped_by_signal->request_stop(); });
  model::TrialSpec spec = test_launch::make_spec(fleet.size(), 1);
  spec.cells[0].deadline_ns = 600'000'000'000;
  if (fleet.rank() != 0)
    return supervisor.follow();
  model::TrialRecord record = supervisor.run(spec, std::span(&spec, 1));
  std::ofstream(result_file) << model::to_string(record.outcome.kind) << ": "
                             << record.outcome.reason << std::flush;
  supervisor.release();
}

// One trial after the other, until somebody no longer answers; the leader writes when it is well
// under way, and at last who that was.
void endless(launch::Fleet& fleet, const std::string& result_file) {
  launch::SupervisorOptions options =
      test_launch::make_options("good", test_launch::own_environment());
  options.cut_off_after = std::chrono::seconds(1);
  options.leader_patience = std::chrono::milliseconds(500);
  options.leader_silence = std::chrono::seconds(1);
  launch::Supervisor supervisor(fleet, test_launch::make_layout(fleet.size(), fleet.size()),
                                options);
  model::TrialSpec spec = test_launch::make_spec(fleet.size(), 1);
  spec.startup_deadline_ns = 2'000'000'000;
  spec.teardown_deadline_ns = 2'000'000'000;
  if (fleet.rank() != 0) {
    supervisor.follow();
  } else {
    for (int trials = 1; !supervisor.stopped(); ++trials) {
      (void)supervisor.run(spec);
      if (trials == 3)
        std::ofstream(result_file) << "under way" << std::flush;
    }
    std::ofstream(result_file) << supervisor.why_stopped() << std::flush;
    supervisor.release();
  }
  if (supervisor.others_lost())
    fleet.leave_alone();
}

} // namespace

int main(int argc, char** argv) {
  base::start_log("fleet_driver", base::Verbosity::normal);
  launch::Variables environment;
  for (const std::string& entry : test_launch::own_environment())
    environment.emplace(entry.substr(0, entry.find('=')), entry.substr(entry.find('=') + 1));
  auto made = launch::join_fleet(environment);
  if (!made) {
    std::cerr << "supervisor: " << made.error().text() << std::endl;
    return 1;
  }
  launch::Fleet& fleet = **made;
  std::string scenario = argc > 1 ? argv[1] : "";
  if (scenario == "gather")
    gather(fleet);
  else if (scenario == "messages")
    messages(fleet);
  else if (scenario == "silent")
    silent(fleet);
  else if (scenario == "stay")
    stay(fleet);
  else if (scenario == "trial")
    trial(fleet);
  else if (scenario == "descriptors")
    descriptors(fleet);
  else if (scenario == "prepared")
    prepared(fleet);
  else if (scenario == "clocks")
    clocks(fleet);
  else if (scenario == "traced")
    traced(fleet);
  else if (scenario == "crash")
    crash(fleet);
  else if (scenario == "rest")
    rest(fleet);
  else if (scenario == "wait" && argc == 3)
    wait(fleet, argv[2]);
  else if (scenario == "endless" && argc == 3)
    endless(fleet, argv[2]);
  else
    expect(fleet, false, "a scenario");
  if (fleet.rank() == 0)
    std::cout << "ok under " << fleet.description() << std::endl;
  return 0;
}
