"""Our HalfCheetah-v5 gives Gymnasium's numbers over whole episodes."""

import os
import subprocess
import sys
import types
import unittest.mock

import gymnasium
import numpy as np

# Gymnasium's viewer wants packages of its own; nothing here is viewed.
viewer = types.ModuleType("gymnasium.envs.mujoco.mujoco_rendering")
viewer.MujocoRenderer = unittest.mock.MagicMock
sys.modules[viewer.__name__] = viewer

STEPS = 1000
TOLERANCE = 1e-9


def episode_actions(kind, rng):
    if kind == "uniform":
        return rng.uniform(-1, 1, (STEPS, 6)).astype(np.float32)
    if kind == "extreme":
        return rng.choice([-1, 1], (STEPS, 6)).astype(np.float32)
    return np.zeros((STEPS, 6), np.float32)


def gymnasium_episode(env, seed, actions):
    env.reset(seed=seed)
    qpos, qvel = env.unwrapped.data.qpos.copy(), env.unwrapped.data.qvel.copy()
    rows = []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        rows.append([*observation, reward, terminated, truncated])
    return qpos, qvel, np.array(rows, np.float64)


def our_episode(trace, qpos, qvel, actions):
    told = qpos.tobytes() + qvel.tobytes() + actions.tobytes()
    done = subprocess.run([trace], input=told, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, np.float64).reshape(-1, 20)


def check_that_a_missing_model_is_named(trace):
    done = subprocess.run([trace], capture_output=True, timeout=60, input=b"",
                          env={**os.environ, "FLYWHEEL_GYMNASIUM_ASSETS": "/nowhere"})
    assert done.returncode == 1, done.returncode
    for words in ("/nowhere/half_cheetah.xml", "set FLYWHEEL_GYMNASIUM_ASSETS"):
        assert words in done.stderr.decode(), done.stderr.decode()


def main(trace):
    check_that_a_missing_model_is_named(trace)
    env = gymnasium.make("HalfCheetah-v5")
    for seed, kind in enumerate(["uniform", "uniform", "extreme", "zero"]):
        actions = episode_actions(kind, np.random.default_rng(seed))
        qpos, qvel, theirs = gymnasium_episode(env, seed, actions)
        ours = our_episode(trace, qpos, qvel, actions)
        assert ours.shape == theirs.shape == (STEPS, 20), ours.shape
        difference = np.abs(ours - theirs).max(axis=0)
        print(f"{kind}: observation {difference[:17].max():.1e}, "
              f"reward {difference[17]:.1e}")
        assert difference[:18].max() <= TOLERANCE, difference
        assert np.array_equal(ours[:, 18:], theirs[:, 18:]), "endings differ"
        assert ours[-1, 19] == 1, "not truncated at the step limit"


if __name__ == "__main__":
    main(sys.argv[1])
