// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/import/training_log.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/import.h"
#include "scenarios/program/import_words.h"

namespace orrery {

int import_log_command(const ImportArguments& arguments) {
    Errors errors;
    std::vector<ImportedLog> logs;
    for (const std::string& file : arguments.words) {
        const Result<std::string> text = read_text_file(file);
        if (!text) {
            errors.push_back(text.error());
            continue;
        }
        auto log = import_training_log(*text,
                                       file,
                                       {.gpu = arguments.device,
                                        .software = arguments.software,
                                        .fabric = arguments.fabric,
                                        .nic_gbps = arguments.nic_gbps,
                                        .gpus_per_node = arguments.gpus_per_node});
        if (!log) {
            errors.insert(errors.end(), log.error().begin(), log.error().end());
            continue;
        }
        note_each("not in the log, and assumed", log->assumed);
        logs.push_back(std::move(*log));
    }
    return errors.empty() ? write_imported(arguments, case_table(logs)) : report_errors(errors);
}

}  // namespace orrery
