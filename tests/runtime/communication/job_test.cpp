// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/job.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/communication/tcp_store.h"

namespace orrery {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
    return
        [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional{found->second};
        };
}

TEST(FindJob, WithoutVariablesThereIsOneProcess) {
    const Result<ProcessJob> job = find_job(environment({}));
    ASSERT_TRUE(job);
    EXPECT_EQ(job->num_ranks, 1u);
    EXPECT_EQ(job->source, "single");
    EXPECT_TRUE(connect_job(*job, std::chrono::seconds{1}));
}

TEST(FindJob, ReadsTorchrun) {
    const Result<ProcessJob> job = find_job(environment({{"RANK", "9"},
                                                         {"WORLD_SIZE", "16"},
                                                         {"LOCAL_RANK", "1"},
                                                         {"MASTER_ADDR", "node7"},
                                                         {"MASTER_PORT", "12345"},
                                                         {"SLURM_PROCID", "0"},
                                                         {"SLURM_NTASKS", "1"}}));
    ASSERT_TRUE(job) << job.error().to_string();
    EXPECT_EQ(job->source, "torchrun");
    EXPECT_EQ(job->rank, 9u);
    EXPECT_EQ(job->num_ranks, 16u);
    EXPECT_EQ(job->local_rank, 1u);
    EXPECT_EQ(job->master_host, "node7");
    EXPECT_EQ(job->master_port, 12345);
}

TEST(FindJob, ReadsSlurmAndTheFirstHostOfItsList) {
    for (const auto& [list, host] :
         std::map<std::string, std::string>{{"node[003-005,9],other", "node003"},
                                            {"a,b[1-2]", "a"},
                                            {"gpu[7]", "gpu7"},
                                            {"x", "x"}}) {
        const Result<ProcessJob> job = find_job(environment({{"SLURM_PROCID", "3"},
                                                             {"SLURM_NTASKS", "4"},
                                                             {"SLURM_LOCALID", "3"},
                                                             {"SLURM_JOB_NODELIST", list}}));
        ASSERT_TRUE(job) << job.error().to_string();
        EXPECT_EQ(job->source, "slurm");
        EXPECT_EQ(job->rank, 3u);
        EXPECT_EQ(job->master_host, host) << list;
    }
}

TEST(FindJob, ReadsOpenMpiAndTheLocalLauncher) {
    const Result<ProcessJob> mpi = find_job(environment({{"OMPI_COMM_WORLD_RANK", "2"},
                                                         {"OMPI_COMM_WORLD_SIZE", "3"},
                                                         {"MASTER_ADDR", "10.0.0.1"}}));
    ASSERT_TRUE(mpi);
    EXPECT_EQ(mpi->source, "openmpi");
    EXPECT_EQ(mpi->rank, 2u);
    const Result<ProcessJob> local = find_job(
        environment({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"ORRERY_STORE", "some-folder"}}));
    ASSERT_TRUE(local);
    EXPECT_EQ(local->source, "launcher");
    EXPECT_EQ(local->store_folder, "some-folder");
    const Result<ProcessJob> served = find_job(
        environment({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"ORRERY_STORE", local_store(4711)}}));
    ASSERT_TRUE(served);
    EXPECT_TRUE(served->served);
    EXPECT_EQ(served->store_folder, "");
    EXPECT_EQ(served->master_host, "127.0.0.1");
    EXPECT_EQ(served->master_port, 4711);
}

TEST(FindJob, VariablesThatMakeNoSenseAreErrorsThatNameThem) {
    const auto where = [](std::map<std::string, std::string> variables) {
        const Result<ProcessJob> job = find_job(environment(std::move(variables)));
        return job ? std::string{"no error"} : job.error().where;
    };
    EXPECT_EQ(where({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), "$RANK");
    EXPECT_EQ(where({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), "$RANK");
    EXPECT_EQ(where({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), "$RANK");
    EXPECT_EQ(where({{"RANK", "0"}, {"WORLD_SIZE", "99999999999"}}), "$WORLD_SIZE");
    EXPECT_EQ(where({{"RANK", "0"}, {"WORLD_SIZE", ""}}), "$WORLD_SIZE");
    EXPECT_EQ(where({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), "$MASTER_ADDR");
    EXPECT_EQ(
        where({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "70000"}}),
        "$MASTER_PORT");
}

TEST(ConnectJob, APortInUseIsAnErrorOfRankZero) {
    const auto other = TcpStoreServer::start("127.0.0.1", 0);
    ASSERT_TRUE(other);
    const ProcessJob job{.rank = 0,
                         .num_ranks = 2,
                         .source = "torchrun",
                         .store_folder = {},
                         .master_host = "127.0.0.1",
                         .master_port = (*other)->port()};
    const auto transport = connect_job(job, std::chrono::milliseconds{100});
    ASSERT_FALSE(transport);
    EXPECT_NE(transport.error().what.find("Address already in use"), std::string::npos);
    EXPECT_EQ(transport.error().hint, "choose another MASTER_PORT");
}

}  // namespace
}  // namespace orrery
