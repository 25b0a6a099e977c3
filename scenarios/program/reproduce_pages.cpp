// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/reproduce_pages.h"

#include <system_error>

#include "scenarios/format/document/output_file.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/reproduction_report.h"

namespace orrery {

bool names_folder(const std::string& file) {
    return file.ends_with('/');
}

Result<void> make_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return fail(folder.string(),
                    "the folder cannot be made: " + error.message(),
                    "choose another folder");
    }
    return {};
}

Result<void> write_room_pages(
    const std::filesystem::path& folder,
    const std::vector<RoomOutcome>& outcomes,
    const std::function<Provenance(const std::vector<Reproduction>&)>& made_of) {
    std::vector<Reproduction> rooms;
    for (const RoomOutcome& outcome : outcomes) {
        rooms.push_back(outcome.room);
        const std::string page = page_with_provenance(
            to_html(reproduction_sections({outcome}, true)), made_of({outcome.room}));
        const auto written = OutputFile::write(folder / (outcome.room.name + ".html"), page);
        if (!written) {
            return written;
        }
    }
    return OutputFile::write(
        folder / "index.html",
        page_with_provenance(to_html(reproduction_sections(outcomes, false)), made_of(rooms)));
}

}  // namespace orrery
