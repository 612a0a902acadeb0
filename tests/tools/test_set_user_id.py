"""A set-user-id program takes no library that its caller names."""

import os
import shutil
import subprocess
import unittest

from command import CommandTest, HEDDLE, inline

NOBODY = 65534


class SetUserIdTest(CommandTest):

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a program of root's")
    def test_ignores_the_compiler_that_the_environment_names(self):
        self.folder.chmod(0o755)
        program = self.folder / "heddle"
        shutil.copy(HEDDLE, program)
        os.chown(program, 0, 0)
        program.chmod(0o4755)

        def run(*arguments, nvrtc):
            environment = {"PATH": "/usr/bin:/bin", "HEDDLE_NVRTC": nvrtc}
            return subprocess.run([str(program), *arguments], capture_output=True, text=True,
                                  timeout=300, cwd="/", env=environment, user=NOBODY, group=NOBODY,
                                  extra_groups=[])

        try:
            starts = run("targets", nvrtc="").returncode == 0
        except PermissionError:
            starts = False
        if not starts or os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("no set-user-id programs of this build can run here")
        evil = "/nonexistent/libnvrtc.so"
        done = run("build", inline(), "--target", "h200", nvrtc=evil)
        self.assertNotIn(evil, done.stderr)
        # This variable of an ordinary program counts.
        program.chmod(0o755)
        self.assertIn(evil, run("build", inline(), "--target", "h200", nvrtc=evil).stderr)


if __name__ == "__main__":
    unittest.main()
