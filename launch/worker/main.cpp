// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe-worker: runs one trial, or reports an inventory or a survey, and exits. ncclprobe
// starts it.
#include "base/console.h"
#include "base/exit_code.h"
#include "base/json_document.h"
#include "base/log.h"
#include "base/process_start.h"
#include "base/program_facts.h"
#include "base/resource_limits.h"
#include "base/version.h"
#include "host/host_backend.h"
#include "launch/worker/inventory.h"
#include "launch/worker/survey.h"
#include "launch/worker/trial.h"
#include "nvidia/driver_version.h"
#include "nvidia/factory.h"
#include "topology/read/hwloc_source.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace ncclprobe;

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

bool has_channel() {
  struct stat status {};
  return fstat(wire::k_channel_fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

model::OutcomeKind outcome_of(Errc code) {
  return code == Errc::unsupported ? model::OutcomeKind::skipped : model::OutcomeKind::failed;
}

// Destructors of CUDA and NCCL libraries may hang or crash long after the results have arrived.
[[noreturn]] void leave(int code) {
  std::fflush(nullptr); // output of libraries
  ::_exit(code);
}

[[noreturn]] void run(worker::SupervisorLink& link, worker::ProgressBoard& board) {
  int last_cell = -1;
  int rank = -1;
  try {
    wire::Start start = link.wait_for_start();
    rank = start.ranks.empty() ? -1 : start.ranks.front().rank;
    worker::run_trial(start, read_environment(), link, board, last_cell);
    leave(base::k_exit_ok);
  } catch (const Exception& error) {
    link.send({rank, wire::Failure{{outcome_of(error.error().code), error.error().text(), {rank}},
                                   last_cell,
                                   error.error().code == Errc::peer_ended}});
  } catch (const std::exception& error) {
    link.send({rank, wire::Failure{{model::OutcomeKind::failed, base::words_of(error), {rank}},
                                   last_cell}});
  }
  leave(base::k_exit_internal);
}

// For topo --record, which gets it as text instead of over the channel.
int print_hwloc_xml() {
  auto xml = topology::hwloc_xml();
  if (!xml)
    base::print(base::StandardStream::err, xml.error().text() + "\n");
  return xml && base::print(base::StandardStream::out, *xml) ? base::k_exit_ok
                                                             : base::k_exit_internal;
}

// What `--version` shows; ncclprobe reads it as JSON.
int print_version(bool as_json) {
  base::ProgramFacts facts = base::common_facts();
  model::HostInventory host;
  host::describe(host);
  if (const model::Library* gloo = host.library("gloo"))
    facts.gloo = gloo->version;
  facts.nvidia_backend = nvidia::build_description();
  facts.nvidia_headers = nvidia::header_versions();
  return base::print(base::StandardStream::out,
                     as_json ? base::write_json(facts) : base::in_lines(facts))
             ? base::k_exit_ok
             : base::k_exit_output;
}

// The newest CUDA that this host's driver supports, such as 13000, or why that is unknown.
// ncclprobe chooses a worker by it.
int print_cuda_driver() {
  const nvidia::DriverVersion driver = nvidia::driver_version();
  return base::print(base::StandardStream::out,
                     driver.cuda ? fmt::format("{}\n", *driver.cuda) : driver.problem + "\n")
             ? base::k_exit_ok
             : base::k_exit_output;
}

// ncclprobe-worker --version [--format json] | --cuda-driver | --hwloc-xml
// ncclprobe-worker [--no-gpus | --links] [--library NAME=PATH]... [--inventory | --survey SCOPE]
//                  [--python PATH]
struct Arguments {
  bool known = true;
  bool version = false;
  bool as_json = false;
  bool cuda_driver = false;
  bool hwloc_xml = false;
  bool inventory = false;
  std::optional<model::SurveyScope> survey;
  worker::Gpus gpus = worker::Gpus::look;
  std::string python;
  std::vector<model::Setting> libraries;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--version")
      arguments.version = true;
    else if (word == "--format" && i + 1 < argc && std::string_view(argv[i + 1]) == "json")
      arguments.as_json = ++i > 0;
    else if (word == "--cuda-driver")
      arguments.cuda_driver = true;
    else if (word == "--hwloc-xml")
      arguments.hwloc_xml = true;
    else if (word == "--inventory")
      arguments.inventory = true;
    else if (word == "--no-gpus")
      arguments.gpus = worker::Gpus::leave_alone;
    else if (word == "--links")
      arguments.gpus = worker::Gpus::look_at_links;
    else if (word == "--python" && i + 1 < argc)
      arguments.python = argv[++i];
    else if (word == "--survey" && i + 1 < argc)
      arguments.survey =
          value_or_throw(model::parse_enum<model::SurveyScope>(argv[++i], "survey scope"));
    else if (std::string next = word == "--library" && i + 1 < argc ? argv[++i] : "";
             next.find('=') != std::string::npos)
      arguments.libraries.push_back(
          {next.substr(0, next.find('=')), next.substr(next.find('=') + 1)});
    else
      arguments.known = false;
  }
  return arguments;
}

} // namespace

int main(int argc, char** argv) {
  base::prepare_process();
  Arguments arguments = read_arguments(argc, argv);
  if (arguments.version)
    return print_version(arguments.as_json);
  if (arguments.cuda_driver)
    return print_cuda_driver();
  if (arguments.hwloc_xml)
    return print_hwloc_xml();
  if (!has_channel() || !arguments.known) {
    base::print(base::StandardStream::err,
                fmt::format("ncclprobe starts ncclprobe-worker and communicates with it over "
                            "descriptor {}. Run ncclprobe instead.\n",
                            wire::k_channel_fd));
    return base::k_exit_usage;
  }
  // No PDEATHSIG: it could end this process before SupervisorLink has seen the channel's end of
  // file and killed the whole group. Grandchildren would then be left.
  base::start_log("ncclprobe-worker", base::Verbosity::normal);
  // Gloo writes to sockets of ranks that may have died. The error tells more than a death by
  // signal.
  std::signal(SIGPIPE, SIG_IGN);
  worker::ProgressBoard board;
  worker::SupervisorLink link{base::Fd(wire::k_channel_fd), board};
  link.send({-1, wire::Hello{wire::k_protocol_version, std::string(base::version()), getpid()}});
  if (arguments.inventory || arguments.survey) {
    backend::Options options;
    options.environment = read_environment();
    options.libraries = arguments.libraries;
    if (arguments.survey)
      link.send({-1, wire::Survey{worker::take_survey(options, arguments.gpus, *arguments.survey,
                                                      arguments.python)}});
    else
      link.send({-1, wire::Inventory{worker::take_inventory(options, arguments.gpus)}});
    leave(base::k_exit_ok);
  }
  run(link, board);
}
