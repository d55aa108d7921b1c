// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/machine_json.h"

#include "machine/document.h"
#include "machine/json_lines.h"
#include "machine/source_text.h"
#include "machine/validate.h"

#include "base/document_limits.h"
#include "base/json_document.h"

namespace ncclprobe::topology {
namespace {

constexpr int k_version = 1;

struct Heading {
  std::optional<int> ncclprobe_topology;
};
NCCLPROBE_LENIENT_FIELDS(Heading, ncclprobe_topology)

} // namespace

std::string write_machine_json(const Machine& machine) {
  // The format's name comes first, for people; the other keys are sorted.
  const std::string hosts = base::json_text(base::writable(machine), 1);
  return fmt::format("{{\n \"ncclprobe_topology\": {},{}\n", k_version, hosts.substr(1));
}

Result<Machine> read_machine_json(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  NCCLPROBE_TRY(base::check_json_limits(text, name));
  base::JsonPlace place;
  auto fail_there = [&](const Error& error) {
    const std::size_t line =
        place.byte ? line_at(text, *place.byte) : json_line_of(text, place.element);
    return fail_at(name, line, "{}", error.text());
  };
  const auto heading = base::parse_json<Heading>(text, &place);
  if (!heading)
    return fail_there(heading.error());
  if (!heading->ncclprobe_topology)
    return fail_at(name, 1, "this JSON is not a topology: it has no \"ncclprobe_topology\"");
  if (heading->ncclprobe_topology != k_version)
    return fail_at(name, json_line_of(text, "/ncclprobe_topology"),
                   "topology format {}; this program reads {}", *heading->ncclprobe_topology,
                   k_version);
  auto machine = base::parse_json<Machine>(text, &place);
  if (!machine)
    return fail_there(machine.error());
  if (auto found = contradiction_in(*machine))
    return fail_at(name, json_line_of(text, found->element), "{}", found->text);
  return machine;
}

} // namespace ncclprobe::topology
