// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/command_end.h"

#include "base/console.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/parse_enum.h"
#include "base/printable.h"
#include "base/resource_limits.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <ostream>

namespace ncclprobe::cli {

int exit_code_of(const base::Error& error) {
  switch (error.code) {
  case Errc::invalid_argument:
  case Errc::not_found:
    return base::k_exit_usage;
  case Errc::io:
    return base::k_exit_output;
  case Errc::mismatch:
  case Errc::unavailable:
  case Errc::unsupported:
  case Errc::protocol: // not our program was started, or another build of it
  case Errc::crashed:
  case Errc::timed_out:
    return base::k_exit_environment;
  case Errc::peer_ended:
  case Errc::failed:
    return base::k_exit_internal;
  }
  return base::k_exit_internal;
}

int give_up(const base::Error& error) {
  spdlog::error("{}", error.text());
  return exit_code_of(error);
}

int give_up_after(const std::exception& error) {
  if (auto shortage = base::shortage_behind(error))
    return give_up(*shortage);
  spdlog::critical("this is a bug in ncclprobe: {}", error.what());
  return base::k_exit_internal;
}

namespace {

using WriteTo = std::function<void(const analysis::Sink& sink)>;

Result<void> write_to_file(const WriteTo& write, const base::Destination& to) {
  NCCLPROBE_TRY_ASSIGN(auto file, base::OutputFile::open(to));
  Result<void> written;
  write([&](std::string_view piece) {
    if (written)
      written = file.write(base::escape_unsafe(piece));
  });
  NCCLPROBE_TRY(written);
  return file.finish();
}

int deliver_pieces(const WriteTo& write, const base::Destination& to, int exit_code) {
  if (to.file.empty()) {
    std::ostream& out = base::console(base::StandardStream::out);
    write([&](std::string_view piece) { out << piece << std::flush; });
    return out ? exit_code
               : give_up({Errc::io, "cannot write to standard output", "is the disk full?"});
  }
  auto written = write_to_file(write, to);
  return written ? exit_code : give_up(written.error());
}

} // namespace

int show(const std::string& text, int exit_code) {
  if (base::print(base::StandardStream::out, text))
    return exit_code;
  spdlog::error("cannot write to standard output: {}", std::strerror(errno));
  return base::k_exit_output;
}

int deliver(const std::string& text, const base::Destination& to, int exit_code) {
  return deliver_pieces([&](const analysis::Sink& sink) { sink(text); }, to, exit_code);
}

int deliver(const analysis::Report& report, analysis::Format format, const base::Destination& to,
            int exit_code) {
  const int columns = to.file.empty() ? base::text_columns() : base::k_report_columns;
  return deliver_pieces(
      [&](const analysis::Sink& sink) { analysis::write(report, format, sink, columns); }, to,
      exit_code);
}

int deliver(const analysis::Report& report, const ResultOptions& how, int exit_code) {
  // What is for people has another name in some commands.
  const auto format = base::parse_enum<analysis::Format>(how.format, "format");
  return deliver(report, format ? *format : analysis::Format::table, how.output, exit_code);
}

base::Result<void> check_destination(const base::Destination& to) {
  return to.file.empty() ? base::Result<void>() : base::check_output_file(to);
}

void Tally::add(const model::TrialRecord& trial) {
  // A companion measures nothing, and the report says what it could not show. But wrong data
  // counts.
  if (trial.spec.purpose == model::Purpose::companion) {
    for (const model::CellRecord& cell : trial.cells)
      wrong_ += cell.outcome.kind == model::OutcomeKind::wrong_data ? 1 : 0;
    return;
  }
  bool cells_say_it = false;
  for (const model::CellRecord& cell : trial.cells) {
    if (cell.outcome.ok()) {
      ++ok_;
      continue;
    }
    cells_say_it = true;
    ++(cell.outcome.kind == model::OutcomeKind::wrong_data ? wrong_ : failed_);
  }
  if (!trial.outcome.ok() && !cells_say_it)
    ++failed_;
}

int Tally::exit_code() const {
  if (wrong_ > 0)
    return base::k_exit_wrong_data;
  if (ok_ == 0)
    return base::k_exit_nothing;
  return failed_ > 0 ? base::k_exit_some_failed : base::k_exit_ok;
}

} // namespace ncclprobe::cli
