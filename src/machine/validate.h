// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <optional>
#include <string>

namespace ncclprobe::topology {

// Why a machine cannot be, and which element of it is to blame.
struct Contradiction {
  std::string text;    // "two GPUs have the number 0"
  std::string element; // as a JSON pointer into what write_machine_json() makes: "/hosts/0/gpus/1"
};

// What all code that takes a Machine may rely on: indexes and bus ids are unique within a host,
// parents stand before their children (so there is no cycle), references lead somewhere, and counts
// are sane. Nothing: so it is.
std::optional<Contradiction> contradiction_in(const Machine& machine);

// The same as an error, invalid_argument: "<name>:1: two GPUs have the number 0": readers know no
// better line than where the machine begins.
base::Result<void> validate(const Machine& machine, const std::string& name);

// The machine of one host, validated. Errors: as validate()'s.
base::Result<Machine> machine_of(Host host, const std::string& name);

} // namespace ncclprobe::topology
