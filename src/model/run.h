// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/captured_step.h"
#include "model/inventory.h"
#include "model/record.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::model {

// The place of each global rank.
struct RankPlace {
  int rank = 0;
  int host = 0;   // index in RunHeader::hosts
  int device = 0; // GPU index, or slot number on the CPU
  bool operator==(const RankPlace&) const = default;
};
NCCLPROBE_DESCRIBE(RankPlace, NCCLPROBE_COLUMN(rank, "global rank"),
                   NCCLPROBE_COLUMN(host, "row in /hosts"),
                   NCCLPROBE_COLUMN(device,
                                    "its GPU on that host, /gpus/index; on the CPU: a slot number"))

// A variable whose value differs from rank 0's.
struct RankVariable {
  std::vector<int> ranks;
  std::string name;
  std::optional<std::string> value; // absent: not set there
  bool operator==(const RankVariable&) const = default;
};
NCCLPROBE_DESCRIBE(RankVariable, NCCLPROBE_COLUMN(ranks, "global ranks that have this value"),
                   NCCLPROBE_COLUMN(name, "name of the variable"),
                   NCCLPROBE_COLUMN(value, "its value on these ranks; missing: not set"))

// The output formats of other programs from which runs are imported (analysis/imports). Stored by
// number: append only.
enum class ImportFormat { nccl_tests_text, nccl_tests_json, nccl_inspector, nvbandwidth_json };

// A file of another program that a run was imported from.
struct ImportedFile {
  std::string path; // as the user named it; "-": standard input
  ImportFormat format = ImportFormat::nccl_tests_text;
  std::string version;              // of the program that wrote it; empty: it does not say
  std::string fingerprint;          // hash of its contents, 16 hexadecimal digits
  std::vector<int> trials;          // that were made from it
  std::string times;                // what its times are, one sentence
  std::vector<std::string> remarks; // what was left out or assumed, a sentence each
  bool operator==(const ImportedFile&) const = default;
};
NCCLPROBE_DESCRIBE(ImportedFile, NCCLPROBE_COLUMN(path, "path of the file; -: standard input"),
                   NCCLPROBE_COLUMN(format, "program and format that the file comes from"),
                   NCCLPROBE_COLUMN(version,
                                    "version of the program that wrote it; empty: unknown"),
                   NCCLPROBE_COLUMN(fingerprint,
                                    "hash of the file's contents, 16 hexadecimal digits"),
                   NCCLPROBE_COLUMN(trials, "ids of the trials that were made from it: /trials/id"),
                   NCCLPROBE_COLUMN(times, "what the times in the file measure, in words"),
                   NCCLPROBE_COLUMN(remarks, "what the import left out or assumed"))

// What `tune` delivered and proved with the trials of this run.
struct ProvenGain {
  std::string setting;      // label of the delivered settings
  double speed = 1;         // of the default's, over all cells
  double low = 1, high = 1; // its 95% interval
  bool operator==(const ProvenGain&) const = default;
};
NCCLPROBE_DESCRIBE(ProvenGain, NCCLPROBE_COLUMN(setting, "the delivered settings"),
                   NCCLPROBE_COLUMN(speed, "their speed over all cells, as a multiple of the "
                                           "default's"),
                   NCCLPROBE_COLUMN(low, "lower limit of the speed's 95% interval"),
                   NCCLPROBE_COLUMN(high, "upper limit of the speed's 95% interval"))

// Known before the first trial, but for what it proves.
struct RunHeader {
  std::string run_id; // random UUID
  std::string started_utc;
  std::string ncclprobe_version;
  std::string mpi_version; // empty without mpirun
  std::vector<std::string> argv;
  std::uint64_t seed = 0;
  std::string backend;
  std::string backend_reason; // why it was chosen
  bool synthetic = false;     // numbers are not measurements
  std::vector<HostInventory> hosts;
  std::vector<RankPlace> ranks;
  std::vector<Setting> environment; // variables of the launching environment that affect the result
  std::vector<Setting> pinned;      // those of them that a sweep requested but left unchanged
  int planned_trials = 0;
  std::string plan;                // the plan file with all options, from which --resume continues
  std::vector<Setting> files;      // files that trials load or start, with hashes of their contents
  std::vector<std::string> forced; // differences that --force accepted when the run was resumed
  // Where ranks differ from `environment`, which is rank 0's.
  std::vector<RankVariable> environment_of_ranks;
  std::string note;                   // the user's note; empty: none
  std::vector<ImportedFile> imported; // none: ncclprobe measured the run itself
  std::vector<CapturedStep> captured; // the one that the run replays; none: it replays nothing
  std::vector<ProvenGain> proven;     // at most one; none: the run is no proof of tune
  bool operator==(const RunHeader&) const = default;
};
NCCLPROBE_DESCRIBE(
    RunHeader, NCCLPROBE_COLUMN(run_id, "random UUID"),
    NCCLPROBE_COLUMN(started_utc, "when the run started: UTC, ISO 8601"),
    NCCLPROBE_COLUMN(ncclprobe_version, "version and build of the ncclprobe that led the run"),
    NCCLPROBE_COLUMN(mpi_version, "version of MPI; empty without mpirun"),
    NCCLPROBE_COLUMN(argv, "the command line"),
    NCCLPROBE_COLUMN(seed, "random seed for the plan, data patterns and the synthetic backend"),
    NCCLPROBE_COLUMN(backend, "nvidia, host or synthetic"),
    NCCLPROBE_COLUMN(backend_reason, "why this backend was chosen"),
    NCCLPROBE_COLUMN(synthetic, "1: the numbers come from a model; 0: they were measured"),
    NCCLPROBE_COLUMN(hosts, "the hosts on which workers ran"),
    NCCLPROBE_COLUMN(ranks, "where each rank runs"),
    NCCLPROBE_COLUMN(environment, "variables in rank 0's environment that can affect the result"),
    NCCLPROBE_COLUMN(
        pinned, "variables that a sweep would vary, but that keep their value from /environment"),
    NCCLPROBE_COLUMN(planned_trials, "number of trials in the plan; 0: not known in advance"),
    NCCLPROBE_COLUMN(plan,
                     "all options, as the text of a plan file; empty: the run cannot be resumed",
                     base::grown),
    NCCLPROBE_COLUMN(forced, "differences that --force accepted when the run was resumed",
                     base::grown),
    NCCLPROBE_COLUMN(environment_of_ranks, "variables of other ranks that differ from /environment",
                     base::grown),
    NCCLPROBE_COLUMN(files, "files that trials load or start, with fingerprints of their contents",
                     base::grown),
    NCCLPROBE_COLUMN(note, "the text of --note; empty: none", base::grown),
    NCCLPROBE_COLUMN(imported,
                     "files of other programs that the run was imported from; no rows: ncclprobe "
                     "measured the run",
                     base::grown),
    NCCLPROBE_COLUMN(captured,
                     "the step of a captured job that the run replays; no rows: the run replays "
                     "nothing",
                     base::Rows{"captured_step"}, base::grown),
    NCCLPROBE_COLUMN(proven,
                     "what tune proved with the trials of this run; no rows: it is no proof of "
                     "tune, or nothing was proven",
                     base::grown))

struct Run {
  RunHeader header;
  std::vector<TrialRecord> trials; // by TrialSpec::id; fewer than planned if the run was stopped
  bool operator==(const Run&) const = default;
};

} // namespace ncclprobe::model
