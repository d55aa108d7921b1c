// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/environment.h"
#include "launch/output_ring.h"
#include "launch/supervisor.h"
#include "launch/worker_handle.h"

#include <algorithm>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

std::string last_words(const WorkerHandle& worker) {
  std::string words = last_lines(worker.output_tail(4096), 5);
  return words.empty() ? "" : ", its last words: " + words;
}

// One look at the worker: the answer, an error, or nothing yet.
std::optional<base::Result<model::Host>> listen(WorkerHandle& worker) {
  std::vector<pollfd> watched;
  worker.watch(watched);
  ::poll(watched.data(), watched.size(), 50);
  for (WorkerEvent& event : worker.serve()) {
    if (auto* message = std::get_if<wire::Message>(&event)) {
      if (auto* inventory = std::get_if<wire::Inventory>(&message->body))
        return std::move(inventory->host);
      if (auto* failure = std::get_if<wire::Failure>(&message->body))
        return base::fail(base::Errc::failed, "the inventory worker: {}", failure->outcome.reason);
    } else if (auto* error = std::get_if<base::Error>(&event)) {
      return base::fail(base::Errc::protocol,
                        "the inventory worker does not follow its protocol: {}{}", error->text(),
                        last_words(worker));
    } else {
      return base::fail(base::Errc::crashed, "the inventory worker ended with {}{}",
                        std::get<ExitStatus>(event).text(), last_words(worker));
    }
  }
  return std::nullopt;
}

} // namespace

base::Result<model::Host> take_inventory(const WorkerProgram& program,
                                         std::chrono::milliseconds patience) {
  adopt_orphans();
  Command command{program.path, program.arguments, worker_environment(program.environment, {}),
                  program.affinity};
  command.arguments.push_back("--inventory");
  NCCLPROBE_TRY_ASSIGN(WorkerHandle worker, WorkerHandle::launch(command));
  base::Deadline deadline = base::Deadline::after(patience);
  std::optional<base::Result<model::Host>> answer;
  while (!answer && !deadline.expired())
    answer = listen(worker);
  if (!answer)
    answer = base::fail(base::Errc::timed_out, "the inventory worker said nothing for {} ms{}",
                        patience.count(), last_words(worker));
  // What it found counts; how long its libraries take to unload does not.
  worker.stop(stop_ladder(500ms, 500ms, 2000ms));
  while (!worker.over()) {
    worker.serve();
    ::poll(nullptr, 0, worker.over() ? 0 : 2);
  }
  return std::move(*answer);
}

} // namespace ncclprobe::launch
