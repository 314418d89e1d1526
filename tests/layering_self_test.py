"""The layering test finds what it is for: each kind of violation, in a small tree."""

import pathlib
import subprocess
import tempfile
import unittest

import layering_test


class LayeringSelfTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def errors_with(self, **files):
        """What is wrong in a tree of these files; `__` stands for `/`, `_DOT_` for `.`."""
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return layering_test.errors_in(self.root)

    def test_accepts_arrows_that_point_inward(self):
        self.assertEqual([], self.errors_with(
            services__buffer__table_DOT_cc='#include "services/core/clock.h"\n',
            services__core__clock_DOT_h="#include <string>\n"))

    def test_refuses_an_arrow_that_points_outward(self):
        self.assertEqual(
            ["services/core/clock.h may not include services/buffer/table.h"],
            self.errors_with(services__core__clock_DOT_h='#include "services/buffer/table.h"\n'))

    def test_refuses_one_role_including_another(self):
        self.assertEqual(
            ["services/rollout/main.cc may not include services/learner/main.h"],
            self.errors_with(services__rollout__main_DOT_cc='#include "services/learner/main.h"\n'))

    def test_refuses_a_heavy_library_past_its_door(self):
        for included in ("flywheel/v1/job.pb.h", "google/protobuf/message.h", "grpcpp/channel.h",
                         "zmq.hpp", "httplib.h", "prometheus/gauge.h", "sqlite3.h",
                         "yaml-cpp/yaml.h", "CLI/CLI.hpp", "mujoco/mujoco.h", "GL/osmesa.h",
                         "torch/torch.h", "gloo/context.h", "isa-l/crc.h"):
            with self.subTest(included):
                self.assertEqual(
                    [f"services/core/clock.h is no door for {included}"],
                    self.errors_with(services__core__clock_DOT_h=f"#include <{included}>\n"))

    def test_refuses_torch_beside_protobuf_through_a_header(self):
        found = self.errors_with(
            services__policy__network_DOT_h="#include <torch/torch.h>\n",
            services__learner__state_codec_DOT_cc='#include "flywheel/v1/job.pb.h"\n'
                                                  '#include "services/policy/network.h"\n')
        self.assertEqual(1, len(found), found)
        self.assertIn("services/learner/state_codec.cc reaches both", found[0])

    def test_lets_tests_include_anything(self):
        self.assertEqual([], self.errors_with(
            tests__core__clock_test_DOT_cc='#include "services/learner/adamw.h"\n'))

    def test_refuses_marks_of_unfinished_work_and_paths_of_a_machine(self):
        found = self.errors_with(
            docs__guide_DOT_md="fine\nTO" + "DO: more\n", run_DOT_sh="cd /ho" + "me/ann/flywheel\n")
        self.assertEqual(["docs/guide.md:2 has a mark of unfinished work: TO" + "DO",
                          "run.sh:1 has a path of somebody's machine: /ho" + "me/a"], found)


if __name__ == "__main__":
    unittest.main()
