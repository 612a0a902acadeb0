"""What the tests of the benchmark scripts share: a stand-in for heddle gives the times."""

import json
import subprocess

from command import CommandTest, ROOT

FAKE = ROOT / "tests/tools/fake_heddle.py"


class ScriptTest(CommandTest):

    def script(self, name, *arguments, check=0, **fake):
        done = subprocess.run([ROOT / "tools" / name, *map(str, arguments)], capture_output=True,
                              text=True, timeout=300,
                              env={**self.environment, "HEDDLE": str(FAKE),
                                   "FAKE_HEDDLE": json.dumps(fake)})
        self.assertEqual(done.returncode, check, done.stderr[-2000:])
        return done

    def document(self, name, *arguments, **fake):
        return json.loads(self.script(name, *arguments, "--json", **fake).stdout)
