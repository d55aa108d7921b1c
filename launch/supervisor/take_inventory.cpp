// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/environment.h"
#include "launch/supervisor/output_ring.h"
#include "launch/supervisor/supervisor.h"
#include "launch/supervisor/worker_handle.h"

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

std::string last_words(const WorkerHandle& worker) {
  std::string words = last_lines(worker.output_tail(4096), 5);
  return words.empty() ? "" : ", its last output: " + words;
}

// The part of an answer that callers want.
model::HostInventory& content_of(wire::Inventory& message) {
  return message.host;
}
model::Survey& content_of(wire::Survey& message) {
  return message.survey;
}

// Checks the worker once: returns the answer, an error, or nothing yet.
template <typename Message, typename Answer>
std::optional<Result<Answer>> listen(WorkerHandle& worker, const char* what) {
  std::vector<pollfd> watched;
  worker.watch(watched);
  ::poll(watched.data(), watched.size(), 50);
  for (WorkerEvent& event : worker.serve()) {
    if (auto* message = std::get_if<wire::Message>(&event)) {
      if (auto* answer = std::get_if<Message>(&message->body))
        return std::move(content_of(*answer));
      if (auto* failure = std::get_if<wire::Failure>(&message->body))
        return fail(Errc::failed, "the {} worker: {}", what, failure->outcome.reason);
    } else if (auto* error = std::get_if<Error>(&event)) {
      return fail(Errc::protocol, "the {} worker does not follow its protocol: {}{}", what,
                  error->text(), last_words(worker));
    } else {
      return fail(Errc::crashed, "the {} worker ended with {}{}", what,
                  std::get<ExitStatus>(event).text(), last_words(worker));
    }
  }
  return std::nullopt;
}

// Runs the worker with `arguments` in addition to the program's own, until its one answer arrives.
template <typename Message, typename Answer>
Result<Answer> ask(const WorkerProgram& program, const std::vector<std::string>& arguments,
                   std::chrono::milliseconds patience, const char* what) {
  adopt_orphans();
  ProcessCommand command{program.path, program.arguments,
                         worker_environment(program.environment, {}), program.affinity};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  NCCLPROBE_TRY_ASSIGN(WorkerHandle worker, WorkerHandle::launch(command));
  base::Deadline deadline = base::Deadline::after(patience);
  std::optional<Result<Answer>> answer;
  while (!answer && !deadline.expired())
    answer = listen<Message, Answer>(worker, what);
  if (!answer)
    answer = fail(Errc::timed_out, "the {} worker sent nothing for {} ms{}", what, patience.count(),
                  last_words(worker));
  // The answer is here, so its libraries need not be given time to unload.
  worker.stop(stop_ladder(500ms, 500ms, 2000ms));
  while (!worker.over()) {
    worker.serve();
    ::poll(nullptr, 0, worker.over() ? 0 : 2);
  }
  return std::move(*answer);
}

} // namespace

Result<model::HostInventory> take_inventory(const WorkerProgram& program,
                                            std::chrono::milliseconds patience) {
  return ask<wire::Inventory, model::HostInventory>(program, {"--inventory"}, patience,
                                                    "inventory");
}

Result<model::Survey> take_survey(const WorkerProgram& program, model::SurveyScope scope,
                                  std::chrono::milliseconds patience) {
  return ask<wire::Survey, model::Survey>(program, {"--survey", std::string(to_string(scope))},
                                          patience, "survey");
}

} // namespace ncclprobe::launch
