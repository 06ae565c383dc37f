// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const day = 24 * time.Hour

func TestThrottleByDo(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		reply, err := client.Do(ctx, "CL.THROTTLE", key(t, "a"), 15, 30, 60).Slice()
		must(t, err)
		if got := fmt.Sprint(reply); got != "[0 16 15 -1 2]" {
			t.Errorf("the first of 16: %s", got)
		}
		numbers, err := client.Do(ctx, "CL.THROTTLE", key(t, "a"), 15, 30, 60, 17).Int64Slice()
		must(t, err)
		if numbers[0] != 1 || numbers[3] != -1 {
			t.Errorf("more than can ever pass: %v", numbers)
		}
	})
}

func TestThrottleTyped(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		for i := 0; i < 5; i++ {
			d, err := Throttle(ctx, client, key(t, "a"), 4, 1, time.Hour, 1)
			must(t, err)
			if d.Limited || d.Limit != 5 || d.Remaining != int64(4-i) || d.RetryAfter != -time.Second {
				t.Fatalf("request %d: %+v", i, d)
			}
		}
		d, err := Throttle(ctx, client, key(t, "a"), 4, 1, time.Hour, 1)
		must(t, err)
		if !d.Limited || d.Remaining != 0 || d.RetryAfter <= 59*time.Minute || d.RetryAfter > time.Hour ||
			d.ResetAfter < d.RetryAfter {
			t.Errorf("the sixth of five: %+v", d)
		}
	})
}

func TestErrorsNameTheArgument(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		for _, bad := range [][]interface{}{
			{"CL.THROTTLE", "a", -1, 1, 1},
			{"CL.THROTTLE", "a", 1, 0, 1},
			{"CL.THROTTLE", "a", 1, 1, "1.5"},
			{"CL.THROTTLE", "a"},
			{"METE.TAKE", "no such policy", "a"},
			{"GET", "a"},
			{"EVALSHA", "0123456789012345678901234567890123456789", 0},
		} {
			mustFail(t, client.Do(ctx, bad...).Err(), "ERR ")
		}
		must(t, client.Ping(ctx).Err())
	})
}

func TestTake(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		take := func(arguments ...interface{}) interface{} {
			reply, err := client.Do(ctx, append([]interface{}{"METE.TAKE"}, arguments...)...).Result()
			must(t, err)
			return reply
		}
		check := func(reply interface{}, allowed bool, name string, want interface{}) {
			t.Helper()
			isAllowed, err := IsAllowed(reply)
			must(t, err)
			got, err := Field(reply, name)
			must(t, err)
			if isAllowed != allowed || got != want {
				t.Errorf("wanted allowed %v and %s %v: %v", allowed, name, want, reply)
			}
		}
		check(take("hundred", key(t, "a")), true, "remaining", int64(99))
		check(take("hundred", key(t, "a"), "COST", 99), true, "remaining", int64(0))
		check(take("hundred", key(t, "a")), false, "limit", int64(100))
		check(take("hundred", key(t, "a"), "COST", 101), false, "retry_after_ms", int64(-1))

		// All or nothing: what the smaller limit refuses the larger one is not charged.
		check(take("two_limits", key(t, "b"), "COST", 5), true, "name", "few")
		check(take("two_limits", key(t, "b")), false, "name", "few")
	})
}

func TestPeekRefundResetTop(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		remaining := func(command string, more ...interface{}) int64 {
			t.Helper()
			reply, err := client.Do(ctx, append([]interface{}{command, "hundred", key(t, "a")}, more...)...).Result()
			must(t, err)
			value, err := Field(reply, "remaining")
			must(t, err)
			return value.(int64)
		}
		for i, step := range []struct {
			command string
			more    []interface{}
			want    int64
		}{
			{"METE.PEEK", nil, 100},
			{"METE.TAKE", []interface{}{"COST", 30}, 70},
			{"METE.PEEK", nil, 70},
			{"METE.REFUND", []interface{}{"COST", 10}, 80},
			{"METE.RESERVE", []interface{}{"WAIT", 0, "COST", 5}, 75},
			{"METE.RESET", nil, 100},
		} {
			if got := remaining(step.command, step.more...); got != step.want {
				t.Errorf("step %d, %s %v: %d remain, wanted %d", i, step.command, step.more, got, step.want)
			}
		}
		top, err := client.Do(ctx, "METE.TOP", "ALLOWED", "COUNT", 1).Slice()
		must(t, err)
		if len(top) != 1 || len(top[0].([]interface{})) != 4 {
			t.Errorf("METE.TOP: %v", top)
		}
		policies, err := client.Do(ctx, "METE.POLICIES").Slice()
		must(t, err)
		if len(policies) != 4 {
			t.Errorf("METE.POLICIES: %v", policies)
		}
	})
}

func TestDelAndExists(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx, a, b := context20(t), key(t, "a"), key(t, "b")
		_, err := Throttle(ctx, client, a, 1, 1, day, 1)
		must(t, err)
		if n := client.Exists(ctx, a, b).Val(); n != 1 {
			t.Errorf("EXISTS: %d", n)
		}
		if n := client.Del(ctx, a, b).Val(); n != 1 {
			t.Errorf("DEL: %d", n)
		}
		if n := client.Exists(ctx, a, b).Val(); n != 0 {
			t.Errorf("EXISTS after DEL: %d", n)
		}
	})
}

func TestKeysAreBytes(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		must(t, client.Del(ctx, "").Err())
		for _, name := range []string{"", key(t, "\r\n"), key(t, "\x00"), key(t, "\xff\xfe"), key(t, "$3\r\nabc\r\n")} {
			for want := int64(1); want >= 0; want-- {
				d, err := Throttle(ctx, client, name, 1, 1, day, 1)
				must(t, err)
				if d.Limited || d.Remaining != want {
					t.Errorf("key %q: %+v", name, d)
				}
			}
		}
	})
}

func TestPipeline(t *testing.T) {
	const count = 1000
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx, pipe := context20(t), client.Pipeline()
		commands := make([]*redis.Cmd, count)
		for i := range commands {
			commands[i] = pipe.Do(ctx, "CL.THROTTLE", key(t, "a"), count-2, 1, 86400)
		}
		_, err := pipe.Exec(ctx)
		must(t, err)
		for i, command := range commands {
			reply, err := command.Int64Slice()
			must(t, err)
			limited, remaining := int64(0), int64(count-2-i)
			if i == count-1 {
				limited, remaining = 1, 0
			}
			if reply[0] != limited || reply[2] != remaining {
				t.Fatalf("request %d: %v", i, reply)
			}
		}
	})
}

// An error in the middle belongs to its request alone.
func TestPipelineWithAnError(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx, pipe := context20(t), client.Pipeline()
		before := pipe.Do(ctx, "CL.THROTTLE", key(t, "a"), 9, 1, 86400)
		bad := pipe.Do(ctx, "CL.THROTTLE", key(t, "a"), 9, 1, 0)
		take := pipe.Do(ctx, "METE.TAKE", "hundred", key(t, "a"))
		after := pipe.Do(ctx, "CL.THROTTLE", key(t, "a"), 9, 1, 86400)
		_, err := pipe.Exec(ctx)
		mustFail(t, err, "ERR ")
		mustFail(t, bad.Err(), "ERR ")
		must(t, take.Err())
		first, err := before.Int64Slice()
		must(t, err)
		second, err := after.Int64Slice()
		must(t, err)
		if first[2] != 9 || second[2] != 8 {
			t.Errorf("before and after: %v %v", first, second)
		}
	})
}

// Transactions are not served: an error, and the connection goes on in step.
func TestTransactionIsRefused(t *testing.T) {
	eachProtocol(t, func(t *testing.T, client *redis.Client) {
		ctx := context20(t)
		_, err := client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Do(ctx, "CL.THROTTLE", key(t, "a"), 9, 1, 86400)
			return nil
		})
		mustFail(t, err, "ERR ")
		for i := 0; i < 20; i++ {
			word := fmt.Sprint(i)
			if echo := client.Echo(ctx, word).Val(); echo != word {
				t.Fatalf("asked for %q, got %q", word, echo)
			}
		}
	})
}

// Eight connections, one key, 1,000 units: exactly 1,000 pass, every round.
func TestExactlyAThousandPass(t *testing.T) {
	const workers, units, rounds = 8, 1000, 20
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", version), func(t *testing.T) {
			var own [workers]*redis.Client
			for w := range own {
				own[w] = connect(t, redis.Options{Protocol: version, PoolSize: 1})
				must(t, own[w].Ping(context20(t)).Err())
			}
			for round := 0; round < rounds; round++ {
				name := key(t, fmt.Sprint(round))
				if passed := race(t, own[:], name, units); passed != units {
					t.Fatalf("round %d: %d passed", round, passed)
				}
			}
		})
	}
}

// race asks until each client has been denied, and tells how many were allowed.
func race(t *testing.T, own []*redis.Client, name string, units int) int64 {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var passed int64
	var group sync.WaitGroup
	start := make(chan struct{})
	for _, client := range own {
		group.Add(1)
		go func(client *redis.Client) {
			defer group.Done()
			<-start
			for {
				d, err := Throttle(ctx, client, name, units-1, 1, day, 1)
				if err != nil {
					t.Error(err)
					return
				}
				if d.Limited {
					return
				}
				atomic.AddInt64(&passed, 1)
			}
		}(client)
	}
	close(start)
	group.Wait()
	return passed
}
