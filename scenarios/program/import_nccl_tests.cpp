// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>

#include "scenarios/format/import/nccl_tests.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/import.h"
#include "scenarios/program/import_words.h"

namespace orrery {

int import_nccl_tests_command(const ImportArguments& arguments) {
    const auto text = imported_file(arguments);
    if (!text) {
        return report_error(text.error());
    }
    NcclTestsImport options{.device = arguments.device, .ranks = arguments.ranks};
    if (!arguments.collective.empty()) {
        options.collective = transfer_named(arguments.collective);
        if (!options.collective) {
            return report_error({"--collective",
                                 fmt::format("'{}' is not one", arguments.collective),
                                 "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast "
                                 "or send_recv"});
        }
    }
    const auto imported = import_nccl_tests(*text, arguments.words.front(), options);
    if (!imported) {
        return report_errors(imported.error());
    }
    note_each("left out", imported->left_out);
    const std::string provenance =
        "nccl-tests: " + std::filesystem::path{arguments.words.front()}.filename().string();
    return write_imported(arguments, profile_csv(imported->profile, provenance));
}

}  // namespace orrery
