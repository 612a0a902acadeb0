"""heddle targets --compiler: which NVRTC is used."""

import unittest

from command import CommandTest, inline


class CompilerTest(CommandTest):

    def test_says_what_compiles(self):
        compiler = self.heddle_json("targets", "--compiler")["compiler"]
        text = self.heddle("targets", "--compiler", check=0).out
        self.assertTrue(text.startswith(f"NVRTC {compiler['version']}: {compiler['library']}, for "))
        self.assertIn(f"sm_{compiler['archs'][-1]}\n", text)
        self.assertTrue(compiler["identity"].startswith(f"nvrtc {compiler['version']} "))
        kernel = self.heddle_json("inspect", inline(), "--target", "h200")["kernels"][0]
        self.assertEqual(kernel["compiler"], compiler["identity"])
        self.environment["HEDDLE_NVRTC"] = compiler["library"]
        self.assertEqual(self.heddle_json("targets", "--compiler")["compiler"], compiler)
        self.environment["HEDDLE_NVRTC"] = str(self.folder)
        self.assertIn(str(self.folder), self.problem("targets", "--compiler", code=1))


if __name__ == "__main__":
    unittest.main()
