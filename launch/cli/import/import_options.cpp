// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/import/import_command.h"

namespace ncclprobe::cli {
namespace {

constexpr const char* k_import_about =
    "Reads the text and the JSON (-J) of nccl-tests, the lines of NCCL Inspector and the JSON "
    "(-j) of nvbandwidth. Each launch of the program becomes one trial of one process. Times vary "
    "between processes, so one process gives times but no verdict. Several logs of the same "
    "measurement give a verdict. All files of one import must be from the same machine, NCCL "
    "version and environment. Import the files that NCCL Inspector writes for the processes of one "
    "job together. `import` prints everything that it leaves out or assumes, and stores it in the "
    "run file. It removes launcher prefixes such as [1,0]<stdout>: and 0:.";

Words<std::uint64_t> bytes_words() {
  return {base::parse_bytes, [](const std::uint64_t& bytes) { return base::format_bytes(bytes); },
          "512M"};
}

} // namespace

Usage import_usage(ImportOptions& into) {
  return {
      .name = "import",
      .summary = "Make a run file from the output of nccl-tests, NCCL Inspector or nvbandwidth",
      .about = k_import_about,
      .examples = {{"ncclprobe import all_reduce.log -o yesterday.h5", "a log of nccl-tests"},
                   {"ncclprobe import run1.log run2.log run3.log -o yesterday.h5",
                    "three processes of the same measurement"},
                   {"ncclprobe import nvbandwidth.json -o p2p.h5", "from nvbandwidth -j"},
                   {"ncclprobe import nccl-inspector-42/*.log -o job.h5",
                    "the processes of a job under NCCL Inspector"},
                   {"all_reduce_perf -g 8 | ncclprobe import - -o now.h5"}},
      .options = joined(
          {{repeated("file", "FILE", into.files, text_words("all_reduce.log"),
                     "Output of nccl-tests, NCCL Inspector or nvbandwidth (- is standard input)",
                     {.positional = true, .required = true}),
            option("output", "FILE", into.output.file, path_words("yesterday.h5"),
                   "Run file to write", {.also = "-o", .required = true}),
            force_option(into.output.overwrite, "Replace the run file if it exists"),
            option("format", "FORMAT", into.format, name_words<model::ImportFormat>("format"),
                   "Format of the files: {}", {.also = "-f", .initial = "detected"}),
            option("collective", "NAME", into.hints.collective,
                   name_words<model::Collective>("collective"),
                   "The collective, if the log of nccl-tests does not name it"),
            option("ranks", "N", into.hints.ranks, number_words(1, k_most),
                   "The number of ranks, if the log of nccl-tests does not list them"),
            option("launch", "N", into.launch, number_words(1, k_most),
                   "Import only this launch, counted from 1 over all files"),
            option("buffer", "SIZE", into.hints.buffer_bytes, bytes_words(),
                   "Buffer size of nvbandwidth (its -b), which its JSON does not contain"),
            option("communicator", "NAME", into.hints.communicator, text_words("0x7f8c496ae9f661"),
                   "Name or id of NCCL Inspector's communicator",
                   {.initial = "the one with the most records"}),
            note_option(into.note)},
           log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
