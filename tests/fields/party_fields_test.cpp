// SPDX-License-Identifier: Apache-2.0
// The fields of a Program that describe its ranks: meshes, groups, parties and their peers.
#include "tests/fields/program_rows.h"

namespace orrery {
namespace program_fields_test {

TEST(PartyFields, OfGroupsAndMeshes) {
    // Of the embedding that the first and the last stage share.
    const auto ends = [](Program& p) -> Group& {
        const auto found = std::ranges::find_if(
            p.groups, [](const Group& group) { return !group.subset.empty(); });
        EXPECT_NE(found, p.groups.end());
        return *found;
    };
    const Row groups[] = {
        {"name", [&](Program& p) { ends(p).name += "!"; }},
        {"digits", [&](Program& p) { ends(p).digits = 0; }},
        {"subset_digit", [&](Program& p) { ends(p).subset_digit = 0; }},
        {"subset", [&](Program& p) { ends(p).subset = {0}; }},
        {"explicit_ranks", [&](Program& p) { ends(p).explicit_ranks = {{RankId{0}}}; }},
        {"party", [&](Program& p) { ends(p).party = 1; }},
    };
    expect_told<Group>(groups);
    const auto digit = [](Program& p, const std::function<void(MeshDigit&)>& change) {
        std::vector<MeshDigit> digits = p.mesh().digits();
        change(digits[0]);
        p.parties.front().mesh = Mesh{digits};
    };
    const Row digits[] = {
        {"name", [&](Program& p) { digit(p, [](MeshDigit& d) { d.name = "tq"; }); }},
        {"size", [&](Program& p) { digit(p, [](MeshDigit& d) { d.size = 1; }); }},
    };
    expect_told<MeshDigit>(digits);
    const auto axes = [](Program& p, std::vector<MeshAxis> named) {
        p.parties.front().mesh = Mesh{p.mesh().digits(), RankId{}, std::move(named)};
    };
    const char* const why = "for the lowering and for people: groups and layouts name digits";
    const Row rows[] = {
        {"name", [&](Program& p) { axes(p, {{.name = "axis", .digits = 1}}); }, {}, why},
        {"digits", [&](Program& p) { axes(p, {{.name = "tp", .digits = 3}}); }, {}, why},
    };
    expect_told<MeshAxis>(rows);
}

TEST(PartyFields, OfPartiesAndPeers) {
    const Row maps[] = {
        {"first", [](Program& p) { p.peers.at(0).first = RankId{0}; }, stages_of_two_sizes},
        {"terms", [](Program& p) { p.peers.at(0).terms.clear(); }, stages_of_two_sizes},
    };
    expect_told<PeerMap>(maps);
    const auto term = [](Program& p) -> PeerTerm& { return p.peers.back().terms.back(); };
    const Row terms[] = {
        {"stride", [&](Program& p) { term(p).stride = 0; }, stages_of_two_sizes},
        {"size", [&](Program& p) { term(p).size = 0; }, stages_of_two_sizes},
        {"peer_stride", [&](Program& p) { term(p).peer_stride += 1; }, stages_of_two_sizes},
    };
    expect_told<PeerTerm>(terms);
}

TEST(PartyFields, OfParties) {
    const Row rows[] = {
        {"name",
         [](Program& p) { p.parties.front().name = "job"; },
         {},
         "for people: what a job of several is called in texts and answers"},
        {"mesh",
         [](Program& p) {
             p.parties.front().mesh = Mesh({{"tp", 1}, {"cp", 1}, {"dp", 2}, {"pp", 2}});
         }},
        {"role_digit", [](Program& p) { p.parties.front().role_digit = 0; }},
        {"first_role", [](Program& p) { p.parties.front().first_role = 1; }},
        {"continues_job", [](Program& p) { p.parties.front().continues_job = true; }},
    };
    expect_told<Party>(rows);
}

}  // namespace program_fields_test
}  // namespace orrery
